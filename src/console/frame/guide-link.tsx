/** The guide that explains the pages of each section. */
const GUIDES: Record<string, string> = {
  '/console': 'console#the-inbox',
  '/console/activity': 'people#who-did-what',
  '/console/agents': 'console#register-an-agent',
  '/console/audit': 'console#find-anything-in-the-log',
  '/console/channels': 'channels',
  '/console/connections': 'connections',
  '/console/exports': 'api#exports',
  '/console/invitations': 'people#join-an-account',
  '/console/me': 'people#sign-in',
  '/console/members': 'people',
  '/console/oidc': 'single-sign-on#sign-in-to-the-console',
  '/console/pair': 'cli#sign-in',
  '/console/permissions': 'console#decide-a-request',
  '/console/policies': 'policies',
  '/console/reports': 'api#compliance-reports',
  '/console/sign-in': 'people#sign-in',
  '/console/slack': 'channels#notify-people-in-slack',
  '/console/stop': 'console#stop-all-agents',
  '/console/webhooks': 'webhooks',
};

/** The guide, and its section, for the page at a path; undefined for a path of no section. */
export function guideOf(path: string): string | undefined {
  return GUIDES[path.split('/').slice(0, 3).join('/')];
}

/** The link to the guide that explains a page. */
export function GuideLink({ path }: { path: string }) {
  return <a href={`/docs/guides/${guideOf(path) ?? 'console'}`}>Guide</a>;
}
