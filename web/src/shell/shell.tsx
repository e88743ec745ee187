// The frame of the page: header, the view that the address names, key hints.
import { address } from '../address.ts';
import { announcement, me, problem } from '../state.ts';
import { later } from '../ui/later.tsx';
import { Header } from './header.tsx';
import { KeyBar } from './key-bar.tsx';
import { SignIn } from './sign-in.tsx';
import { Workbench } from './workbench.tsx';
import { Busy } from '../ui/parts.tsx';

const Runs = later('Runs');
const Agents = later('Agents');
const Questions = later('Questions');
const WhatIf = later('WhatIf');
const XrayPage = later('XrayPage');

export const Shell = () => (
  <div class="shell">
    <Header />
    <main class="shell-main">
      <View />
    </main>
    <KeyBar />
    <div class="unseen" role="status" aria-live="polite">
      {announcement}
    </div>
  </div>
);

const View = () => {
  if (problem.value !== null) return <SignIn error={problem.value} />;
  if (me.value === null) return <Busy />;
  const { page, run, with: other, xray } = address.value;
  switch (page) {
    case 'runs':
      return <Runs />;
    case 'agents':
      return <Agents />;
    case 'questions':
      return <Questions />;
    case 'chat':
      if (run !== undefined && other !== undefined) return <WhatIf />;
      return run !== undefined && xray === true ? <XrayPage /> : <Workbench />;
  }
};
