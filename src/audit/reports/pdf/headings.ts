import type { Content } from 'pdfmake/js/Printer.js';

/** A numbered section, which begins a page and stands in the contents and the outline. */
export function sectionHeading(number: number, title: string): Content {
  return {
    text: `${number}  ${title}`,
    style: 'section',
    pageBreak: 'before',
    tocItem: true,
    tocStyle: { bold: true },
    tocMargin: [0, 7, 0, 0],
    outline: true,
    outlineText: `${number} ${title}`,
    id: `section-${number}`,
  };
}

/** A part of a section, which stands in the contents and the outline too. */
export function partHeading(section: number, part: number, title: string): Content {
  return {
    text: `${section}.${part}  ${title}`,
    style: 'part',
    tocItem: true,
    tocMargin: [16, 1, 0, 0],
    outline: true,
    outlineText: `${section}.${part} ${title}`,
    outlineParentId: `section-${section}`,
    id: `part-${section}-${part}`,
  };
}
