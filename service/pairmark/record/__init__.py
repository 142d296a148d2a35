"""Recording a run while a benchmark makes it: for authors of harnesses.

    from pairmark import record

    with record.Run("runs/attacked", suite="suite.json", arm="attacked", attack="important_instructions", system={...}) as run:
        for episode in run.remaining():
            with episode:
                result = benchmark(episode.task_id, episode.injection_id, episode.epoch)
                episode.utility, episode.attack_success, episode.delivered = result

One episode at a time goes to disk; a killed run is whole up to the last one and can be resumed or sealed as it stands. Threads
and processes may record one run together. The finished folder is a run bundle. Only the documents of the domain are imported.
See docs/recording.md.
"""

from pairmark.record.cells import Cell
from pairmark.record.episode import AgentLimit, Episode, ProviderBlock
from pairmark.record.run import Run, seal
from pairmark.record.sealing import Sealed

__all__ = ["AgentLimit", "Cell", "Episode", "ProviderBlock", "Run", "Sealed", "seal"]
