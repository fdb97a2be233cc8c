# shellcheck shell=bash
# Node.js as it is published, and npm as Node.js has it beside it.
tar -xzf "$ARCHIVES/node.tgz" -C /usr/local --strip-components=1 --no-same-owner package/bin package/include
mkdir -p /usr/local/lib/node_modules/npm /usr/share/doc/nodejs
tar -xzf "$ARCHIVES/npm.tgz" -C /usr/local/lib/node_modules/npm --strip-components=1 --no-same-owner package
tar -xzOf "$ARCHIVES/node.tgz" package/LICENSE >/usr/share/doc/nodejs/copyright
chmod 0755 /usr/local/bin/node
for name in npm npx; do
    chmod 0755 "/usr/local/lib/node_modules/npm/bin/$name-cli.js"
    ln -sf "../lib/node_modules/npm/bin/$name-cli.js" "/usr/local/bin/$name"
done
PATH=/usr/local/bin:$PATH
node --version
npm --version
