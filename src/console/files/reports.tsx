import { FRAMEWORKS } from '../../audit/reports/controls';
import { createReport, ReportCreation } from '../../audit/reports/create';
import { listReports } from '../../audit/reports/list';
import type { ComplianceReport } from '../../audit/reports/report';
import { type Refusal, readAddress, readForm, refusalOf, validate } from '../frame/form';
import { sendPage, sendPart } from '../frame/page';
import { Empty, NextPage, withParameters } from '../parts/list';
import type { ConsoleContext } from '../session/access';
import { FileList, type ListedFile } from './file-list';
import { type ReportFields, ReportForm, readReportFields } from './report-form';
import { spanText } from './wording';

const PATH = '/console/reports';
/** How many reports a page has. */
const LIMIT = 20;

/** Shows the account's compliance reports, the newest first. */
export async function showReports(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const page = await listReports(context, { limit: LIMIT, cursor: c.req.query('cursor') });
  const address = new URL(c.req.url);
  const list = (
    <FileList
      title="Reports"
      address={withParameters(address, { part: 'list' })}
      files={page.data.map(listed)}
      now={context.runtime.now()}
    />
  );
  if (c.req.query('part') === 'list') return sendPart(c, list);
  const start = <Start context={context} />;
  return sendPage(c, {
    title: 'Reports',
    children:
      page.data.length === 0 ? (
        <Empty title="There are no compliance reports yet.">
          <p>
            A report is evidence for an auditor from the audit log: figures, findings for the controls of a framework,
            exceptions and a sample.
          </p>
          {start}
        </Empty>
      ) : (
        <>
          <div class="bar">
            <p class="soft">
              Evidence for an auditor, for the controls of a framework. Each can be downloaded for 24 hours, unless an
              agent in it is deleted before.
            </p>
            {start}
          </div>
          {list}
          <NextPage page={page} address={address} />
          <HowToVerify />
        </>
      ),
  });
}

/** Shows the form that starts a compliance report. The address may already say which one. */
export async function showNewReport(c: ConsoleContext): Promise<Response> {
  return sendForm(c, readReportFields(readAddress(c), c.var.signedIn.context.runtime.now()));
}

/** Starts the report that the form describes, or shows the form again and why it was refused. */
export async function startReport(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const fields = readReportFields(await readForm(c), context.runtime.now());
  const { start, end, ...others } = fields;
  try {
    const input = validate(ReportCreation(), { ...others, period: { start, end } });
    await c.var.once((context) => createReport(context, input));
  } catch (error) {
    return sendForm(c, fields, refusalOf(error));
  }
  return c.redirect(PATH, 303);
}

function sendForm(c: ConsoleContext, fields: ReportFields, refusal?: Refusal): Response {
  return sendPage(
    c,
    {
      title: 'Start a compliance report',
      isNarrow: true,
      children: <ReportForm fields={fields} refusal={refusal} />,
    },
    refusal?.status ?? 200,
  );
}

function Start({ context: { principal } }: { context: ConsoleContext['var']['signedIn']['context'] }) {
  const { plan } = principal.account;
  if (plan !== 'enterprise') {
    return (
      <p>
        Compliance reports come with the plan enterprise. This account has the plan {plan}; the operator of the service
        can change it.
      </p>
    );
  }
  return (
    <p class="actions">
      <a class="button" href={`${PATH}/new`}>
        Start a report
      </a>
    </p>
  );
}

function listed(report: ComplianceReport): ListedFile {
  const { report_type, period, format } = report;
  return {
    ...report,
    title: FRAMEWORKS[report_type].name,
    detail: `${spanText(period.start, period.end)}, ${format.toUpperCase()}`,
    again: `${PATH}/new?${new URLSearchParams({ report_type, ...period, format })}`,
  };
}

function HowToVerify() {
  return (
    <section class="card" aria-labelledby="verify-title">
      <h2 id="verify-title">How to verify a report</h2>
      <p>
        A report is evidence, not attestation: it names the entries behind each finding. Compare the SHA-256 of the file
        with the one in the list:
      </p>
      <pre>sha256sum report_….pdf</pre>
      <p>
        An export of the same period proves that the entries are unchanged:{' '}
        <a href="/docs/guides/verifying">the guide to verifying</a> says how.
      </p>
    </section>
  );
}
