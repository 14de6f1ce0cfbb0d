/**
 * Programs and words of the shell that run another program, or change what the next words mean. A
 * rule for the shell as a whole does not let them pass: only a rule that names them does.
 */
export const LAUNCHERS: ReadonlySet<string> = new Set(
  [
    '. source eval exec command builtin trap alias unalias function declare typeset export set',
    'env sudo doas su xargs parallel nohup nice ionice timeout time setsid stdbuf unshare chroot',
    'watch script ssh bash sh zsh dash ksh fish csh tcsh busybox find fd strace gdb awk gawk perl',
    'python python3 node deno bun ruby php lua osascript make npx bunx uvx tmux screen at crontab',
  ]
    .join(' ')
    .split(' '),
);
