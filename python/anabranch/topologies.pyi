from anabranch.network.topologies import *
