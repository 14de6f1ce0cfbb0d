import type { Child } from 'hono/jsx';
import type { Scope } from '../../http/context';

interface Section {
  path: string;
  name: string;
  /** Null if every member may see it. */
  scope: Scope | null;
}

const INBOX = '/console';

/** The sections of the console, in the groups in which the menu shows them. */
const GROUPS: Section[][] = [
  [{ path: INBOX, name: 'Inbox', scope: 'permissions:read' }],
  [
    { path: '/console/agents', name: 'Agents', scope: 'agents:read' },
    { path: '/console/policies', name: 'Policies', scope: 'policies:read' },
    { path: '/console/connections', name: 'Connections', scope: 'connections:read' },
  ],
  [
    { path: '/console/audit', name: 'Audit log', scope: 'audit:read' },
    { path: '/console/exports', name: 'Exports', scope: 'audit:export' },
    { path: '/console/reports', name: 'Reports', scope: 'audit:export' },
  ],
  [
    { path: '/console/webhooks', name: 'Webhooks', scope: 'webhooks:read' },
    { path: '/console/channels', name: 'Channels', scope: 'channels:read' },
    { path: '/console/members', name: 'Members', scope: 'account:read' },
    { path: '/console/activity', name: 'Activity', scope: 'audit:read' },
  ],
];

/** The page of the caller's own sign-in, which the menu does not show. */
const OWN: Section = { path: '/console/me', name: 'My sign-in', scope: null };
const SECTIONS: Section[] = [...GROUPS.flat(), OWN];

/** Whether a caller with these scopes may see a section. */
const maySee =
  (scopes: readonly Scope[]) =>
  ({ scope }: Section) =>
    scope === null || scopes.includes(scope);

/**
 * Where the console begins for a caller: the first section of the menu that the caller may see,
 * otherwise the caller's own page.
 */
export function firstSection(scopes: readonly Scope[]): Pick<Section, 'path' | 'name'> {
  return SECTIONS.find(maySee(scopes)) ?? OWN;
}

interface NavigationProps {
  path: string;
  scopes: readonly Scope[];
  /** How many requests wait for the reader, in a few characters; null for none. */
  waiting: string | null;
  /** Stands below the sections. */
  children: Child;
}

/** The menu of the sections that the member may see. */
export function Navigation({ path, scopes, waiting, children }: NavigationProps) {
  const current = sectionOf(path);
  return (
    <nav id="menu" popover="auto" aria-label="Sections">
      {GROUPS.map((group) => group.filter(maySee(scopes))).map(
        (group) =>
          group.length > 0 && (
            <ul>
              {group.map(({ path, name }) => (
                <li>
                  <a href={path} aria-current={path === current ? 'page' : undefined}>
                    {name}
                    {path === INBOX && <WaitingCount text={waiting} />}
                  </a>
                </li>
              ))}
            </ul>
          ),
      )}
      {children}
    </nav>
  );
}

/**
 * How many requests wait for the reader. The script keeps it up to date while the inbox is open.
 */
function WaitingCount({ text }: { text: string | null }) {
  return (
    <span class="count" hidden={text === null}>
      <span data-waiting-count>{text}</span>
      <span class="hidden"> waiting for you</span>
    </span>
  );
}

/** The section to which a page belongs; null if the page is itself a section. */
export function sectionAbove(path: string): Pick<Section, 'path' | 'name'> | null {
  const above = sectionOf(path);
  if (path === above) return null;
  return SECTIONS.find((section) => section.path === above) ?? null;
}

/** The path of the section to which a page belongs. A decision belongs to the inbox. */
function sectionOf(path: string): string {
  const [, , section] = path.split('/');
  if (section === undefined || section === 'permissions') return '/console';
  return `/console/${section}`;
}
