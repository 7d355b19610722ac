from anabranch.engineering.routes import *
