# Shell functions of tests/run.sh, one a tier. Each adds what it saw to passed, failed and skipped.
# shellcheck shell=bash disable=SC2154  # root, build, only, sanitize, strict, quick and tiers come from run.sh

passed=0
failed=0
skipped=0
began=$SECONDS

say() { printf '[%4d s] %s\n' "$((SECONDS - began))" "$*"; }

# The last `N passed, N failed, N skipped` line of a log is added to the totals.
count_closing_line() {
    local log=$1 line
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1) || true
    if [ -z "$line" ]; then
        echo "FAIL $log has no closing line: the run broke off"
        failed=$((failed + 1))
        return
    fi
    # shellcheck disable=SC2086  # splitting the line into words is the point
    set -- ${line//,/}
    passed=$((passed + $1)) failed=$((failed + $3)) skipped=$((skipped + ${5:-0}))
}

# configure_and_build FOLDER PRESET TARGET...
configure_and_build() {
    say "building into $1"
    mkdir -p "$1"
    cmake -S "$root" --preset "$2" -B "$1" -DBUILD_TESTS=ON "-DWARNINGS_AS_ERRORS=$strict" > "$1/configure.log" 2>&1 ||
        { cat "$1/configure.log"; exit 1; }
    cmake --build "$1" --target "${@:3}" 2>&1 | grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Generating)' || true
    cmake --build "$1" --target "${@:3}" > /dev/null || exit 1
}

# ctest_counts FOLDER LABEL
ctest_counts() {
    local log=$1/$2.log report=$1/$2.xml
    rm -f "$report"
    ctest --test-dir "$1" --output-on-failure -L "$2" --no-tests=error -j2 --output-junit "$report" > "$log" 2>&1 || true
    python3 "$root/tests/lib/ctest_counts.py" "$report" | tee "$log.counts"
    count_closing_line "$log.counts"
}

build_programs() {
    local targets=(capsuled mt capsule-agent) tier
    for tier in "${tiers[@]}"; do
        if [ "$tier" = vm ]; then targets+=(host_libvirt_machine_test); fi
        if [ "$tier" = unit ] && [ "$sanitize" = no ]; then targets=(all) && break; fi
    done
    configure_and_build "$build" release "${targets[@]}"
}

run_unit() {
    if [ "$sanitize" = no ]; then
        say "tier unit"
        ctest_counts "$build" unit
    else
        configure_and_build "$build-sanitize" sanitize all
        say "tier unit under ASan and UBSan"
        ctest_counts "$build-sanitize" unit
    fi
}

prepare_machines() {
    "$root/scripts/start-services.sh"
    "$root/images/build.sh" all --agent "$build/bin/capsule-agent" --mt "$build/bin/mt"
    "$build/bin/mt" doctor || true
}

run_vm() {
    say "tier vm: preparing"
    prepare_machines
    if [ "$only" = '*' ]; then
        say "tier vm: image checks"
        bash "$root/tests/images/images_test.sh" 2>&1 | tee "$build/images.log" || true
        count_closing_line "$build/images.log"
        say "tier vm: machines without the daemon"
        ctest_counts "$build" machine
    fi
    say "tier vm: cases"
    CAPSULE_BIN=$build/bin python3 "$root/tests/vm/runner.py" --only "$only" "${quick[@]}" 2>&1 | tee "$build/vm.log" || true
    count_closing_line "$build/vm.log"
}

run_soak() {
    say "tier soak"
    prepare_machines
    CAPSULE_BIN=$build/bin python3 "$root/tests/vm/runner.py" --tier soak --only "$only" 2>&1 | tee "$build/soak.log" || true
    count_closing_line "$build/soak.log"
}

run_images() {
    say "tier images: profile full"
    prepare_machines
    "$root/images/build.sh" full
    CAPSULE_BIN=$build/bin python3 "$root/tests/vm/runner.py" --only image-full 2>&1 | tee "$build/full.log" || true
    count_closing_line "$build/full.log"
    say "tier images: packer"
    bash "$root/tests/packer/packer_test.sh" 2>&1 | tee "$build/packer.log" || true
    count_closing_line "$build/packer.log"
}

run_nested() {
    local short=()
    [ ${#quick[@]} -eq 0 ] || short=(--short)
    say "tier nested"
    "$root/images/build.sh" all --agent "$build/bin/capsule-agent" --mt "$build/bin/mt"
    bash "$root/tests/nested/run.sh" --build "$build" "${short[@]}" 2>&1 | tee "$build/nested.log" || true
    count_closing_line "$build/nested.log"
}

finish() {
    say "done"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}
