"""A TPM in software, in a folder of its own: swtpm, which speaks as a real one does."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import until

__all__ = ["running_tpm"]


@contextmanager
def running_tpm(folder: Path) -> Iterator[str]:
    """Started as after a boot: all registers zero, the seeds those of the folder. Yields where tpm2-tools find it."""
    folder.mkdir(exist_ok=True)
    # Names of sockets must be short, and the control socket is looked for beside the other.
    socket = folder / "s"
    command = ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={folder}", "--server", f"type=unixio,path={socket}"]
    command += ["--ctrl", f"type=unixio,path={socket}.ctrl", "--flags", "not-need-init,startup-clear"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as machine:
        try:
            until(lambda: socket.exists() and Path(f"{socket}.ctrl").exists(), what="swtpm listening")
            yield f"swtpm:path={socket}"
        finally:
            machine.terminate()
            machine.wait(timeout=10)
            for left in (socket, Path(f"{socket}.ctrl")):
                left.unlink(missing_ok=True)
