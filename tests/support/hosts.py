"""hosts.py - hosts on one machine: network namespaces with links of a chosen speed, on which Open MPI starts ranks. Needs root, `ip` and `tc`."""
import os
import shutil
import string
import subprocess
import tempfile

from support.program import PROGRAM
from support.ranks import launched_environment
from support.tap import Skip

AGENT = '#!/bin/sh\nh=$1; shift\nexec ip netns exec "$h" unshare --uts sh -c "hostname $h; $*"\n'


class Hosts:
    """So many network namespaces on a bridge, each link sending at most `rate` (as tc writes it). Their names are never used again: the system
    removes them later."""
    made = 0

    def __init__(self, count, rate):
        self.count, self.rate = count, rate

    def __enter__(self):
        if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("tc"):
            raise Skip("hosts as network namespaces need root, ip and tc")
        Hosts.made += 1
        self.tag = f"tw{os.getpid() % 100000}{string.ascii_lowercase[Hosts.made]}"
        self.names = [f"{self.tag}h{i}" for i in range(1, self.count + 1)]
        self.folder = tempfile.mkdtemp(prefix="tilewright-hosts.")
        self.agent, self.hosts = (os.path.join(self.folder, what) for what in ("agent", "hosts"))
        try:
            self.run("ip", "link", "add", self.tag, "type", "bridge")
        except AssertionError as error:
            shutil.rmtree(self.folder)
            raise Skip(f"no bridge: {error}") from None
        try:
            self.build()
        except BaseException:  # also where the process is stopped
            self.__exit__()
            raise
        return self

    def build(self):
        self.run("ip", "link", "set", self.tag, "up")
        for i, host in enumerate(self.names, 1):
            self.run("ip", "netns", "add", host)
            self.run("ip", "link", "add", f"{self.tag}v{i}", "type", "veth", "peer", "name", "eth0", "netns", host)
            self.run("ip", "link", "set", f"{self.tag}v{i}", "master", self.tag, "up")
            self.run("ip", "-n", host, "addr", "add", f"10.77.0.{i}/24", "dev", "eth0")
            self.run("ip", "-n", host, "link", "set", "eth0", "up")
            self.run("ip", "-n", host, "link", "set", "lo", "up")
            self.run("ip", "netns", "exec", host, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", self.rate, "burst", "256kb", "latency", "50ms")
        open(self.agent, "w").write(AGENT), os.chmod(self.agent, 0o755)
        open(self.hosts, "w").write("".join(f"{host} slots=1\n" for host in self.names))

    def __exit__(self, *_):
        for host in self.names:
            left = subprocess.run(["ip", "netns", "pids", host], check=False, capture_output=True, text=True).stdout.split()
            subprocess.run(["kill", "-9", *left], check=False, capture_output=True)
            subprocess.run(["ip", "netns", "del", host], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.tag], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def run(*words):
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, f"{words}: {done.stderr}"

    def start(self, *words, launcher=()):
        """`multiply` on a rank of each host; launcher: more options of mpirun. Each host would bind its rank to the same core."""
        net = "10.77.0.0/24"
        line = ["mpirun.openmpi", "--mca", "plm_rsh_agent", self.agent, "--hostfile", self.hosts, "--mca", "oob_tcp_if_include", net, "--mca", "btl_tcp_if_include", net,
                "--mca", "btl", "tcp,self", "--bind-to", "none", *launcher, "-n", str(self.count), PROGRAM, "multiply", *words]
        return subprocess.Popen([self.agent, self.names[0], *line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=launched_environment())
