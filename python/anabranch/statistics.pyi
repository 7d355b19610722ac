from anabranch.results.statistics import *
