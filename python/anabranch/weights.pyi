from anabranch.engineering.weights import *
