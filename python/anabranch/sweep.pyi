from anabranch.studies.sweep import *
