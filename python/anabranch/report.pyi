from anabranch.pages.report import *
