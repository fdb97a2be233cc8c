# The environment of every command, for login shells that something else than the agent started.
for capsule_file in /etc/capsule/environment /etc/capsule/proxy-environment; do
    [ -r "$capsule_file" ] || continue
    while IFS='=' read -r capsule_name capsule_value; do
        [ -z "$capsule_name" ] || export "$capsule_name=$capsule_value"
    done <"$capsule_file"
done
unset capsule_file capsule_name capsule_value
