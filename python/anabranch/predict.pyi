from anabranch.engineering.predict import *
