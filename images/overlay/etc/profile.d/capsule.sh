# The environment of every command, for login shells that something else than the agent started.
if [ -r /etc/capsule/environment ]; then
    while IFS='=' read -r capsule_name capsule_value; do
        [ -z "$capsule_name" ] || export "$capsule_name=$capsule_value"
    done </etc/capsule/environment
    unset capsule_name capsule_value
fi
