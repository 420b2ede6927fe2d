"""What a broker tells about itself: attributes and ping."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fluxlike import __version__
from fluxlike.hostlist import Hostlist
from fluxlike.protocol.instance import Ping, Pong
from fluxlike.tree.topology import level_of
from fluxlike_broker.attributes import Attributes
from fluxlike_broker.call import Call
from fluxlike_broker.service import request

if TYPE_CHECKING:
    from fluxlike_broker.daemon import Broker


class Facts(Attributes):
    @request(Ping)
    def ping(self, body: Ping, call: Call) -> Pong:
        message = call.message
        return Pong(rank=int(str(self._facts["rank"]())), userid=message.userid, route=message.route, pad=body.pad)


def broker_facts(broker: Broker) -> Facts:
    plan = broker.plan
    boot = plan.boot
    return Facts(
        {
            "rank": lambda: boot.rank,
            "size": lambda: boot.size,
            "version": lambda: __version__,
            "hostname": lambda: boot.host,
            "hostlist": lambda: Hostlist.of(boot.hosts),
            "instance-level": lambda: boot.level,
            "instance-id": lambda: boot.instance,
            "local-uri": lambda: plan.uri,
            "rundir": lambda: plan.folder,
            "statedir": lambda: plan.statedir or "",
            "broker.pid": os.getpid,
            "broker.uuid": lambda: broker.overlay.uuid.hex(),
            "broker.state": lambda: broker.phase,
            "broker.starttime": lambda: broker.started,
            "broker.quorum": lambda: plan.settings.broker.quorum or boot.size,
            "executor.pid": lambda: broker.agent.pid,
            "executor.epoch": lambda: broker.agent.epoch,
            "security.owner": os.geteuid,
            "tbon.topo": lambda: f"kary:{boot.overlay.fanout}",
            "tbon.level": lambda: level_of(boot.rank, boot.overlay.fanout),
            "tbon.parent": lambda: "" if broker.overlay.parent is None else broker.overlay.parent,
            "tbon.endpoint": lambda: boot.bind,
            "tbon.descendants": lambda: len(broker.overlay.subtree.members()),
            "tbon.torpid": lambda: boot.overlay.torpid,
            "tbon.lost": lambda: boot.overlay.lost,
            "heartbeat.period": lambda: boot.overlay.heartbeat,
            "exec.lost-grace": lambda: plan.settings.exec.lost_grace,
            "exec.orphan-timeout": lambda: plan.orphan_timeout,
            "exec.kill-timeout": lambda: plan.settings.exec.kill_timeout,
        }
    )
