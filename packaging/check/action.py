"""Runs the steps of the GitHub Action as its runner does: action.py ACTION INPUT=VALUE…

Steps that use other actions need GitHub; they are named and left out.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

action = yaml.safe_load(Path(sys.argv[1]).read_text())
given = dict(word.split("=", 1) for word in sys.argv[2:])
inputs = {
    name: given.get(name, rule.get("default", ""))
    for name, rule in action["inputs"].items()
}


def filled(text: str) -> str:
    return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], text)


for step in action["runs"]["steps"]:
    if "run" not in step:
        print(f"   left out: {step['name']} uses {step['uses']}")
        continue
    environment = {name: filled(value) for name, value in step.get("env", {}).items()}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(command, env=os.environ | environment, check=False)
    print(f"   {step['name']}: exit {done.returncode}")
    if done.returncode:
        sys.exit(done.returncode)
