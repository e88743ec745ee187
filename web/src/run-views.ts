// What shows a run: one file, loaded when the first of them is shown.
export { Audit } from './panes/audit.tsx';
export { Summary } from './panes/summary.tsx';
export { TranscriptPane } from './panes/transcript.tsx';
export { Windows } from './panes/windows.tsx';
export { Rooms } from './rooms/rooms.tsx';
export { WhatIf } from './what-if/what-if.tsx';
export { Inspector } from './xray/inspector.tsx';
export { XrayPage } from './xray/xray-page.tsx';
