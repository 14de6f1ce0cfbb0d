import { FRAMEWORKS } from '../../reports/controls';
import { listReports } from '../../reports/list';
import type { ComplianceReport } from '../../reports/report';
import { LinkButton, Section } from '../parts/blocks';
import type { ConsoleContext } from '../session/access';
import { FILES_PER_PAGE, type ListedFile, sendFiles } from './file-list';
import { spanText } from './wording';

/** Shows the account's compliance reports, the newest first. */
export async function showReports(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const page = await listReports(context, { limit: FILES_PER_PAGE, cursor: c.req.query('cursor') });
  return sendFiles(c, {
    title: 'Reports',
    page,
    files: page.data.map(listed),
    about:
      'Evidence for an auditor about the controls of a framework. Each report can be downloaded for 24 hours, or until an agent in it is deleted.',
    ifEmpty: {
      title: 'There are no compliance reports yet.',
      about:
        'A report is evidence for an auditor from the audit log: figures, findings for the controls of a framework, exceptions and a sample.',
    },
    start: <Start plan={context.principal.account.plan} />,
    howToVerify: (
      <Section name="verify" title="How to verify a report">
        <p>
          A report is evidence, not attestation: it names the entries behind each finding. Compare
          the SHA-256 of the file with the one in the list:
        </p>
        <pre>sha256sum report_….pdf</pre>
        <p>
          An export of the same period proves that the entries are unchanged:{' '}
          <a href="/docs/guides/verifying">the guide to verifying</a> says how.
        </p>
      </Section>
    ),
  });
}

function Start({ plan }: { plan: string }) {
  if (plan !== 'enterprise') {
    return (
      <p>
        Compliance reports come with the plan enterprise. This account has the plan {plan}; the
        operator of the service can change it.
      </p>
    );
  }
  return (
    <p class="actions">
      <LinkButton href="/console/reports/new" label="Start a report" />
    </p>
  );
}

function listed(report: ComplianceReport): ListedFile {
  const { report_type, period, format } = report;
  return {
    ...report,
    title: FRAMEWORKS[report_type].name,
    detail: `${spanText(period.start, period.end)}, ${format.toUpperCase()}`,
    again: `/console/reports/new?${new URLSearchParams({ report_type, ...period, format })}`,
  };
}
