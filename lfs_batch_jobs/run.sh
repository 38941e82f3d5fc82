#!/usr/bin/env bash
# What every batch script ends with: run.sh NAME [FIRST_SEED LAST_SEED [GPU]] [options]
#
# In an element of an array job this trains one shard; elsewhere it hands over to
# experiments/batch.py, which trains or submits all of them.
#
# PYTHON: interpreter; else that of .venv, else python3.
# STABLE_NALU_ROOT: folder of the project, where jobs are submitted from another one.
# STABLE_NALU_LOGS: folder of the output of jobs; else logs/ in the project.
# STABLE_NALU_SCRIPT: training script whose task this is, in place of a batch script's shard. It is
# started where the job was submitted; NAME is the folder of its output.
set -u

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
script="${STABLE_NALU_SCRIPT:-}"
[ -n "$script" ] || cd "$root" || exit 1
python="${PYTHON:-}"
if [ -z "$python" ]; then
  python=python3
  [ -x "$root/.venv/bin/python" ] && python="$root/.venv/bin/python"
fi

job=""
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
  index="$SLURM_ARRAY_TASK_ID"
  job="${SLURM_ARRAY_JOB_ID}_${index}"
elif [ "${LSB_JOBINDEX:-0}" -gt 0 ]; then
  index="$((LSB_JOBINDEX - 1))"
  job="${LSB_JOBID}_${index}"
fi
if [ -z "$job" ]; then
  exec "$python" experiments/batch.py "$@"
fi

logs="${STABLE_NALU_LOGS:-$root/logs}/$1"
mkdir -p "$logs" || exit 1
exec >>"$logs/$job.out" 2>>"$logs/$job.err"
# A batch script that is given to SLURM itself has output where it was submitted: kept if it says
# anything.
first="${SLURM_SUBMIT_DIR:-.}/${SLURM_JOB_NAME:-}_$job.out"
[ -s "$first" ] || rm -f "$first"

# A signal interrupts `wait`: it is passed on, and the shard is waited for again. One that comes
# before the shard has a number is passed on as soon as it has one. Later ones are not: scancel may
# repeat a signal every few seconds, and a second one would end the shard before it has saved.
shard=""
told=no
signalled=no
pass_on() {
  signalled=yes
  [ "$told" = yes ] || [ -z "$shard" ] || kill -TERM "$shard" 2>/dev/null
  told=yes
}
trap pass_on TERM INT USR2
if [ -n "$script" ]; then
  shift
  "$python" -u "$root/experiments/$script.py" "$@" --shard "$index" &
else
  "$python" -u experiments/batch.py "$@" --task "$index" &
fi
shard=$!
[ "$told" = no ] || kill -TERM "$shard" 2>/dev/null
wait "$shard"
code=$?
while [ "$signalled" = yes ]; do
  signalled=no
  wait "$shard"
  code=$?
done

# 75: it was told to stop, has saved its state and wants to go on; 143: it had not begun yet.
if [ "$told" = yes ] && [ "$code" -eq 143 ]; then
  code=75
fi
# LSF requeues such jobs itself. A job that SLURM ends, cancelled or requeued by somebody else, is
# not running any more.
if [ "$code" -eq 75 ] && [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
  state="$(squeue --noheader --jobs "$job" --format %T)" || state=RUNNING
  if [ "$state" = RUNNING ]; then
    scontrol requeue "$job"
  fi
fi
exit "$code"
