from anabranch.engineering.robust import *
