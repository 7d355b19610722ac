"""All commands, each from a module of its name."""

from cyclopts import App

from anabranch import version
from anabranch.cli import topology
from anabranch.cli.check import check
from anabranch.cli.doctor import doctor
from anabranch.cli.drill import drill
from anabranch.cli.paper import paper
from anabranch.cli.plan import plan
from anabranch.cli.predict import predict
from anabranch.cli.report import report
from anabranch.cli.robust import robust
from anabranch.cli.routes import routes
from anabranch.cli.run import run
from anabranch.cli.schema import schema

app = App(
    name="anabranch",
    help="Finds, predicts and proves the best way to carry TCP over a network.",
    version=version,
    result_action="return_value",
)
for _command in (run, check, report, routes, robust, plan, predict, paper, drill, schema, doctor):
    app.command(_command)
topology_app = App(name="topology", help="Topologies by name or from a file: list, show, plot.")
topology_app.command(topology.list_topologies, name="list")
topology_app.command(topology.show_topology, name="show")
topology_app.command(topology.plot_topology, name="plot")
app.command(topology_app)
app.register_install_completion_command(help="Have the shell complete commands and options.")
