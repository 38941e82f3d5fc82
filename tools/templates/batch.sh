#!/usr/bin/env bash
# Generated from stable_nalu/paper; rewrite with `make generated`.
#
{% for experiment in script.shows %}
# {{ experiment.title }}: {{ places(experiment) or "no figure" }} ({{ experiment.key }})
{% endfor %}
#
#   bash {{ file }} [FIRST_SEED LAST_SEED{{ " [GPU]" if script.gpu_argument }}] [--model NAME ...]
#        [--scheduler local|slurm|lsf|print] [--resume] [--status] [--dry-run]
#   sbatch {{ file }}
#   bsub < {{ file }}
#
{% if script.scope %}
# {{ script.scope }}
#
{% endif %}
# Models, and runs of each:
{% for name, model in script.named_models().items() %}
#   {{ name }}: {{ model.label }}, {{ model.runs }} runs
{% endfor %}
#
{% for line in headers %}
{{ line }}
{% endfor %}

set -eu
{# A batch system runs a copy of the file, from where it was submitted. #}
root="${STABLE_NALU_ROOT:-${SLURM_SUBMIT_DIR:-${LS_SUBCWD:-}}}"
if [ ! -e "$root/lfs_batch_jobs/run.sh" ]; then
  root="$(cd "$(dirname "$0")/{{ depth }}" && pwd)"
fi

exec bash "$root/lfs_batch_jobs/run.sh" {{ name }} "$@"
