from anabranch.engineering.plan import *
