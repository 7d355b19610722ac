from anabranch.engines.drill import *
