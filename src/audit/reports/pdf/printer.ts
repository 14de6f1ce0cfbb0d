// Those who compile this file from elsewhere do not come upon its declarations by themselves.
/// <reference path="./pdfmake.d.ts" />
import exported from 'pdfmake/js/Printer.js';

/** pdfmake's printer: the default of a CommonJS module, which some bundlers unwrap and others do not. */
export const Printer = 'default' in exported ? exported.default : exported;
