import type { Content } from 'pdfmake/js/Printer.js';
import type { ComplianceReport, Control, Finding } from '../report';
import { entriesBehind } from './evidence';
import { shorten } from './format';
import { partHeading, sectionHeading } from './headings';
import { fitsOnPage } from './page-fit';

/** What the log holds for every control of the framework, and what it cannot show. */
export function controlsSection({ controls, framework }: ComplianceReport, number: number): Content[] {
  return [
    sectionHeading(number, 'Controls'),
    {
      text: `What the audit log holds for the controls of ${framework} that concern the access of agents, each sentence with the entries behind it.`,
      style: 'paragraph',
    },
    ...controls.flatMap((control, at) => controlPart(control, number, at + 1)),
  ];
}

/** The heading stays with the first sentence, and what is not covered with the last. */
function controlPart(control: Control, section: number, part: number): Content[] {
  const heading: Content[] = [
    partHeading(section, part, `${control.id}  ${control.title}`),
    { text: 'Evidence held', style: 'label' },
  ];
  const limits: Content[] = [
    { text: 'Not covered', style: 'label' },
    { text: control.not_covered, margin: [0, 0, 0, 8] },
  ];
  const none: Content[] = [{ text: 'The log holds no evidence for this control in the period.' }];
  const blocks = control.evidence.length > 0 ? control.evidence.map(finding) : [none];
  return blocks.map((block, at) => {
    const stack = [...(at === 0 ? heading : []), ...block, ...(at === blocks.length - 1 ? limits : [])];
    return { stack, unbreakable: fitsOnPage(stack) };
  });
}

function finding(one: Finding): Content[] {
  return [{ text: shorten(one.text, 900) }, { stack: [entriesBehind(one)], margin: [0, 0, 0, 6] }];
}
