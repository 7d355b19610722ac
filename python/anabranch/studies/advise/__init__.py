"""Advice: which routes, selector and stack carry a network's traffic best, decided by prediction and simulation.

>>> from anabranch.studies.advise import Question, advise
>>> advice = advise(Question.of_network("tcpbp10", pairs=[("1", "10")], flows=10), only=("linux", "one-path"), time_s=20)
>>> advice.best.stack in {"linux-bbr", "linux-westwood"}
True
"""

from anabranch.studies.advise.answer import Advice, advise
from anabranch.studies.advise.candidates import RESTRICTIONS
from anabranch.studies.advise.question import OBJECTIVES, Question

__all__ = ["OBJECTIVES", "RESTRICTIONS", "Advice", "Question", "advise"]
