#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_slurm.sh: the job script of docs/how-to/several-machines.md runs: Slurm of one node starts two tasks of it, a signal
# requeues it, it goes on, and ends with the weights of one process that was not stopped. Slurm is the test's own, with all files in
# a temporary folder. Usage: check_slurm.sh LEAT TREE. Exit code 77: there is no Slurm, no MPI, or not the rights.
set -eu
leat=$1 tree=$2
PATH=$PATH:/usr/sbin
for program in slurmctld slurmd sbatch munged mpirun; do
    command -v $program >/dev/null || { echo "SKIPPED: no $program (Debian: slurm-wlm munge openmpi-bin)"; exit 77; }
done
[ -f "$(dirname "$leat")/libleat-mpi.so" ] || { echo "SKIPPED: built without MPI"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "SKIPPED: slurmd needs root"; exit 77; }
tmp=$(mktemp -d)
clean() {
    for pid in slurmd.pid ctld.pid munge.pid; do
        [ ! -s "$tmp/$pid" ] || kill "$(cat "$tmp/$pid")" 2>/dev/null || :
    done
    for i in $(seq 100); do # they remove their files
        ls "$tmp"/*.pid >/dev/null 2>&1 || break
        sleep 0.1
    done
    rm -rf "$tmp" || :
}
trap clean EXIT
cd "$tmp"
chmod 755 .
host=$(hostname -s)
export SLURM_CONF="$tmp/slurm.conf" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1

head -c 1024 /dev/urandom >key
chmod 600 key
munged --force --key-file="$tmp/key" --socket="$tmp/munge.socket" --pid-file="$tmp/munge.pid" \
    --log-file="$tmp/munge.log" --seed-file="$tmp/munge.seed"
port=$((20000 + $$ % 12000)) # beside a Slurm that is there, and below those that the kernel gives
cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthInfo=socket=$tmp/munge.socket
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool
SlurmctldPidFile=$tmp/ctld.pid
SlurmdPidFile=$tmp/slurmd.pid
SlurmctldLogFile=$tmp/ctld.log
SlurmdLogFile=$tmp/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerParameters=sched_interval=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes=ALL Default=YES
END
mkdir state spool
slurmctld
slurmd
wait_for() { # seconds, what, command...
    limit=$1 what=$2 i=0
    shift 2
    until "$@" >/dev/null 2>&1; do
        i=$((i + 1))
        [ $i -lt $((limit * 10)) ] || { echo "$what: not within $limit s"; tail -n 20 ctld.log slurmd.log job.log 2>/dev/null; exit 1; }
        sleep 0.1
    done
}
is_idle() { sinfo -h -o %T | grep -qx idle; }
wait_for 30 "the node is idle" is_idle
srun --mpi=list 2>&1 | grep -q pmix || { echo "SKIPPED: this Slurm has no PMIx"; exit 77; }

mkdir data
awk 'BEGIN { srand(1); print "x,y,ring"; for (i = 0; i < 4000; i++) { angle = 6.2832 * rand(); outer = rand() < 0.5
    r = outer + 0.5 + 0.4 * rand(); print r * cos(angle) "," r * sin(angle) "," (outer ? "outer" : "inner") } }' >data/points.csv
# Rows take their time, so that the job is there when the signal comes, but the cores none.
sed '0,/^  - batch:/s//  - map: {tensor: point, ops: [{sleep: 2}]}\n  - batch:/' "$tree/examples/points.yaml" >first.yaml
options='--set train.micro_batches=2 --set engine.threads=1 --epochs 6'
"$leat" train first.yaml $options --set engine.threads=16 --save one.st >one.log

sed -n '/^```sh$/,/^```$/p' "$tree/docs/how-to/several-machines.md" | sed -e '/^```/d' \
    -e 's/--nodes=2/--nodes=1/; s/--cpus-per-task=8/--cpus-per-task=1/' -e "/^#SBATCH --requeue/s|\$| --output=$tmp/job.log|" \
    -e "s|leat train first.yaml|$leat train first.yaml $options --save $tmp/two.st|; s|/shared/|$tmp/|" >job.sh
grep -q 'srun .*--resume' job.sh
job=$(sbatch --parsable job.sh)
checkpoint() { ls first-run/step-*.safetensors; }
wait_for 60 "a checkpoint" checkpoint
scancel --signal=USR1 "$job"
is_requeued() { squeue -h -j "$job" -o %T | grep -qx PENDING; }
wait_for 60 "the job is requeued" is_requeued
scontrol update jobid="$job" starttime=now+3 # not after its two minutes, but later than the second in which it was killed
is_completed() { scontrol show job "$job" | grep -q JobState=COMPLETED; }
wait_for 200 "the job ends" is_completed
grep -q 'goes on from ' job.log || { echo "it did not go on:"; cat job.log; exit 1; }
scontrol show job "$job" | grep -q 'Restarts=1' || { echo "it was not requeued once"; exit 1; }
cmp one.st two.st
echo "two tasks, requeued once, with the weights of one process"
