"""Client of the capsule host: run commands in throwaway Linux machines.

    from maitento import Maitento

    mt = Maitento()
    run = mt.capsules.start("workbench")
    print(mt.capsule_runs.exec_and_wait(run.id, "uname", ["-a"]).output_standard)
    mt.capsule_runs.terminate(run.id)

docs/sdk-python.md is the guide, docs/api.md what lies below.
"""

from maitento.client import Maitento
from maitento.errors import (CapsuleCommandAbortedError, ConflictError, DefinitionInvalidError, Diagnostic,
                             InvalidAnswerError, InvalidRequestError, MaitentoConnectionError, MaitentoError,
                             MaitentoTimeoutError, NotAllowedError, NotFoundError, UnavailableError)
from maitento.event_stream import EventStream
from maitento.output import OutputChunk, OutputFollower, OutputGap
from maitento.records import Command, DeployReport, Event, FileEntry, Image, Named, Namespace, Run
from maitento.version import VERSION as __version__
from maitento.vfs import FileSystem

__all__ = [
    "CapsuleCommandAbortedError", "Command", "ConflictError", "DefinitionInvalidError", "DeployReport", "Diagnostic",
    "Event", "EventStream", "FileEntry", "FileSystem", "Image", "InvalidAnswerError", "InvalidRequestError", "Maitento",
    "MaitentoConnectionError", "MaitentoError", "MaitentoTimeoutError", "Named", "Namespace", "NotAllowedError",
    "NotFoundError", "OutputChunk", "OutputFollower", "OutputGap", "Run", "UnavailableError", "__version__",
]
