import type { Setup } from '../../accounts/me/get-setup';

/** The first steps of an owner: the name of each, why, and where. */
const STEPS: readonly [step: keyof Setup, title: string, why: string, path: string][] = [
  [
    'agent',
    'Register an agent',
    'You get its key, and code that sends its first request.',
    '/console/agents/new',
  ],
  [
    'secondSignIn',
    'Make a second passkey',
    'If you lose your only one, nobody can let you in again.',
    '/console/me#passkeys-title',
  ],
  [
    'approver',
    'Invite somebody who may decide',
    'Then requests are answered while you are away.',
    '/console/members/new',
  ],
  [
    'channel',
    'Add a channel',
    'People hear of requests by e-mail or in Slack.',
    '/console/channels/new',
  ],
  [
    'policy',
    'Write a policy',
    'A policy decides without a person, or names who decides.',
    '/console/policies/new',
  ],
];

interface ChecklistProps {
  setup: Setup;
  /** Whether it shows its steps; else only how many are done. */
  isOpen: boolean;
}

/** The steps that make a new account work, until all are done. */
export function Checklist({ setup, isOpen }: ChecklistProps) {
  const done = STEPS.filter(([step]) => setup[step]).length;
  if (done === STEPS.length) return null;
  return (
    <details class="card checklist" open={isOpen}>
      <summary>
        Set up the account: {done} of {STEPS.length} done
      </summary>
      <ol>
        {STEPS.map(([step, title, why, path]) => (
          <li class={setup[step] ? 'done' : undefined}>
            {setup[step] && (
              <span>
                {title}
                <span class="hidden">: done</span>
              </span>
            )}
            {!setup[step] && (
              <span>
                <a href={path}>{title}</a>
                <small>{why}</small>
              </span>
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}
