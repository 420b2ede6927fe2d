"""Makes the stage of the scenarios importable: in `importlib` mode pytest adds no folder to the path by itself."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
