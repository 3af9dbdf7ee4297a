"""Structures that the literature knows, to judge evidence on: names, numbers of states, parents."""

from collections.abc import Mapping

from lacunet.models.network import Network, Variable

# One variable a line: NAME STATES PARENTS. Lauritzen & Spiegelhalter (1988).
ASIA = """
asia 2
tub 2 asia
smoke 2
lung 2 smoke
bronc 2 smoke
either 2 lung tub
xray 2 either
dysp 2 bronc either
"""

# Spiegelhalter & Cowell (1992).
CHILD = """
BirthAsphyxia 2
Disease 6 BirthAsphyxia
Sick 2 Disease
Age 3 Disease Sick
LVH 2 Disease
DuctFlow 3 Disease
CardiacMixing 4 Disease
LungParench 3 Disease
LungFlow 3 Disease
HypDistrib 2 DuctFlow CardiacMixing
HypoxiaInO2 3 CardiacMixing LungParench
CO2 3 LungParench
ChestXray 5 LungParench LungFlow
Grunting 2 LungParench Sick
LVHreport 2 LVH
LowerBodyO2 3 HypDistrib HypoxiaInO2
RUQO2 3 HypoxiaInO2
CO2Report 2 CO2
XrayReport 5 ChestXray
GruntingReport 2 Grunting
"""

# Binder, Koller, Russell & Kanazawa (1997).
INSURANCE = """
Age 3
Mileage 4
SocioEcon 4 Age
RiskAversion 4 Age SocioEcon
GoodStudent 2 SocioEcon Age
OtherCar 2 SocioEcon
VehicleYear 2 SocioEcon RiskAversion
MakeModel 5 SocioEcon RiskAversion
HomeBase 4 RiskAversion SocioEcon
AntiTheft 2 RiskAversion SocioEcon
SeniorTrain 2 Age RiskAversion
DrivingSkill 3 Age SeniorTrain
DrivQuality 3 DrivingSkill RiskAversion
DrivHist 3 DrivingSkill RiskAversion
RuggedAuto 3 MakeModel VehicleYear
Antilock 2 MakeModel VehicleYear
Airbag 2 MakeModel VehicleYear
CarValue 5 MakeModel VehicleYear Mileage
Accident 4 Antilock Mileage DrivQuality
Cushioning 4 RuggedAuto Airbag
Theft 2 AntiTheft HomeBase CarValue
ThisCarDam 4 Accident RuggedAuto
OtherCarCost 4 Accident RuggedAuto
ThisCarCost 4 ThisCarDam CarValue Theft
PropCost 4 OtherCarCost ThisCarCost
MedCost 4 Accident Age Cushioning
ILiCost 4 Accident
"""


def _read(text: str) -> Network:
    lines = [line.split() for line in text.split("\n") if line]
    names = [name for name, *_ in lines]
    variables = [Variable(name, tuple(range(int(states)))) for name, states, *_ in lines]
    parents = [[names.index(p) for p in line[2:]] for line in lines]
    return Network.build(variables, parents)


KNOWN: Mapping[str, Network] = {
    "asia": _read(ASIA),
    "child": _read(CHILD),
    "insurance": _read(INSURANCE),
}
