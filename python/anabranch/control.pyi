from anabranch.engines.control import *
