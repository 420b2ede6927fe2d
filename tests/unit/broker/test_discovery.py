from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from fluxlike.config.settings import ResourceSettings
from fluxlike_broker.discovery import discover

AS_FOUND = ResourceSettings()


class Host:
    """A made-up host: only the files that are read exist."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("sys", "proc", "dev"):
            (root / name).mkdir()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="ascii")

    def cpus(self, cores: int, threads: int = 1, name: str = "core_cpus_list") -> range:
        """Threads of a core are numbered as most machines do: all first threads, then all second ones."""
        for core in range(cores):
            siblings = [core + thread * cores for thread in range(threads)]
            for cpu in siblings:
                path = f"sys/devices/system/cpu/cpu{cpu}/topology/{name}"
                self.write(path, ",".join(map(str, siblings)))
        return range(cores * threads)

    def cgroup(self, *lines: str) -> None:
        self.write("proc/self/cgroup", "\n".join(lines))

    def count(self, affinity: Iterable[int], settings: ResourceSettings = AS_FOUND) -> tuple[int, int]:
        root = str(self.root)
        cores, gpus = discover(settings, sys=f"{root}/sys", proc=f"{root}/proc", dev=f"{root}/dev", affinity=affinity)
        assert cores == (1 << cores.bit_count()) - 1, "ids are logical, without gaps"
        assert gpus == (1 << gpus.bit_count()) - 1, "ids are logical, without gaps"
        return cores.bit_count(), gpus.bit_count()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_threads_of_a_core_are_one_core(host: Host) -> None:
    assert host.count(host.cpus(8, threads=2)) == (8, 0)


def test_older_kernels_name_the_file_otherwise(host: Host) -> None:
    assert host.count(host.cpus(4, threads=2, name="thread_siblings_list")) == (4, 0)


def test_neighbouring_threads_are_one_core_too(host: Host) -> None:
    for cpu in range(4):
        host.write(f"sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list", f"{cpu & ~1}-{cpu | 1}")
    assert host.count(range(4)) == (2, 0)


def test_without_simultaneous_threads_every_cpu_is_a_core(host: Host) -> None:
    host.write("sys/devices/system/cpu/smt/active", "0")
    assert host.count(range(6)) == (6, 0)


def test_without_any_topology_every_cpu_is_a_core(host: Host) -> None:
    assert host.count(range(3)) == (3, 0)


def test_only_cores_within_the_affinity_count(host: Host) -> None:
    host.cpus(8, threads=2)
    assert host.count([2, 3, 10, 12]) == (3, 0)


def test_a_cpuset_counts_beside_the_affinity(host: Host) -> None:
    cpus = host.cpus(8)
    host.cgroup("0::/user/job")
    host.write("sys/fs/cgroup/user/job/cpuset.cpus.effective", "0-2,7")
    assert host.count(cpus) == (4, 0)


def test_a_cpuset_of_version_1_counts(host: Host) -> None:
    cpus = host.cpus(8)
    host.cgroup("3:cpuset:/job", "0::/")
    host.write("sys/fs/cgroup/cpuset/job/cpuset.cpus", "4-5")
    host.write("sys/fs/cgroup/cpuset/cpuset.cpus", "0-7")
    assert host.count(cpus) == (2, 0)


def test_a_cpuset_that_contradicts_the_affinity_is_not_ours(host: Host) -> None:
    host.cpus(8)
    host.cgroup("0::/")
    host.write("sys/fs/cgroup/cpuset.cpus.effective", "6-7")
    assert host.count([0, 1, 2]) == (3, 0)


@pytest.mark.parametrize(
    ("limit", "cores"),
    [
        ("400000 100000", 4),
        ("350000 100000", 4),
        ("50000 100000", 1),
        ("1000 100000", 1),
        ("6400000 100000", 8),
        ("max 100000", 8),
        ("nonsense", 8),
        ("100000 0", 8),
        ("", 8),
    ],
)
def test_a_limit_of_cpu_time_counts_as_whole_cores(host: Host, limit: str, cores: int) -> None:
    cpus = host.cpus(8)
    host.cgroup("0::/pod")
    host.write("sys/fs/cgroup/pod/cpu.max", limit)
    assert host.count(cpus) == (cores, 0)


def test_the_tightest_limit_on_the_way_up_wins(host: Host) -> None:
    cpus = host.cpus(8)
    host.cgroup("0::/slice/pod/container")
    host.write("sys/fs/cgroup/slice/pod/container/cpu.max", "max 100000")
    host.write("sys/fs/cgroup/slice/pod/cpu.max", "300000 100000")
    host.write("sys/fs/cgroup/slice/cpu.max", "500000 100000")
    assert host.count(cpus) == (3, 0)


def test_a_container_finds_its_limit_at_the_root(host: Host) -> None:
    cpus = host.cpus(8)
    host.cgroup("0::/../../kubepods/pod7")
    host.write("sys/fs/cgroup/cpu.max", "200000 100000")
    assert host.count(cpus) == (2, 0)


@pytest.mark.parametrize("mounted", ["cpu,cpuacct", "cpu", "cpuacct"])
def test_a_limit_of_version_1_counts(host: Host, mounted: str) -> None:
    cpus = host.cpus(8)
    host.cgroup("12:memory:/docker/abc", "4:cpu,cpuacct:/docker/abc", "1:name=systemd:/docker/abc")
    host.write(f"sys/fs/cgroup/{mounted}/cpu.cfs_quota_us", "250000")
    host.write(f"sys/fs/cgroup/{mounted}/cpu.cfs_period_us", "100000")
    assert host.count(cpus) == (3, 0)


def test_no_limit_of_version_1_is_none(host: Host) -> None:
    cpus = host.cpus(8)
    host.cgroup("1:cpu:/")
    host.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1")
    host.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")
    assert host.count(cpus) == (8, 0)


def test_both_versions_at_once_are_both_looked_at(host: Host) -> None:
    cpus = host.cpus(8)
    host.cgroup("2:cpuset:/", "1:cpu:/", "0::/x")
    host.write("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-5")
    host.write("sys/fs/cgroup/unified/x/cpu.max", "400000 100000")
    assert host.count(cpus) == (4, 0)


def test_nvidia_devices_are_gpus_and_their_control_files_are_not(host: Host) -> None:
    for name in ("nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "nvidia-modeset", "null"):
        host.write(f"dev/{name}", "")
    assert host.count([0]) == (1, 3)


def rocm_node(host: Host, node: int, simd: int, minor: int) -> None:
    text = f"cpu_cores_count 0\nsimd_count {simd}\ndrm_render_minor {minor}\nname"
    host.write(f"sys/class/kfd/kfd/topology/nodes/{node}/properties", text)


def test_rocm_counts_compute_nodes_only(host: Host) -> None:
    rocm_node(host, 0, simd=0, minor=0)
    rocm_node(host, 1, simd=440, minor=128)
    rocm_node(host, 2, simd=440, minor=129)
    for name in ("renderD128", "renderD129", "renderD130", "card0"):
        host.write(f"dev/dri/{name}", "")
    assert host.count([0]) == (1, 2)


def test_rocm_counts_only_devices_that_this_container_was_given(host: Host) -> None:
    for node in range(4):
        rocm_node(host, node, simd=440, minor=128 + node)
    host.write("dev/dri/renderD130", "")
    assert host.count([0]) == (1, 1)


def test_a_graphics_card_alone_is_no_gpu(host: Host) -> None:
    host.write("dev/dri/renderD128", "")
    assert host.count([0]) == (1, 0)


def test_settings_win_over_what_is_found(host: Host) -> None:
    cpus = host.cpus(8)
    host.write("dev/nvidia0", "")
    assert host.count(cpus, ResourceSettings(cores=64, gpus=4)) == (64, 4)
    assert host.count(cpus, ResourceSettings(gpus=0)) == (8, 0)
    assert host.count(cpus, ResourceSettings(cores=2)) == (2, 1)


def test_this_host_has_a_core() -> None:
    cores, _ = discover(ResourceSettings())
    assert cores & 1


def test_the_first_thread_speaks_for_its_core(host: Host) -> None:
    for core in range(128):
        host.write(f"sys/devices/system/cpu/cpu{core}/topology/core_cpus_list", f"{core},{core + 128}")
    assert host.count(range(256)) == (128, 0), "the second threads have no file, and none is needed"
