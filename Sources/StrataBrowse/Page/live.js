"use strict";
// What others save, as it comes. A browser opens six connections to a program at most, and whoever waits for a change holds one. So of all pages of a browser
// that are seen one waits, and tells the others.

function tellLive(text, isWell) { Object.assign($("live"), { textContent: text, className: isWell ? "badge on" : "badge warn" }); }
function lost() { tellLive("ended", false); }
function tellTrouble(error) {
  if (error.name === "AbortError") return;
  if (error.isLost) lost(); else tellLive(errorText(error), false);
}

const commits = `strata commits ${location.pathname}`;
const followers = new BroadcastChannel(commits);
const following = { stop: null, isWaiting: false, last: Promise.resolve() };
followers.addEventListener("message", (event) => { if (state.begin && !document.hidden && event.data !== state.commit) catchUp(); });
addEventListener("visibilitychange", () => { if (!state.begin) return; if (document.hidden) following.stop?.abort(); else { catchUp(); follow(); } });

// Commits are taken one after the other.
function inTurn(work) { return following.last = following.last.then(work).catch(tellTrouble); }
// What has been saved since this page has looked: the answer comes at once.
function catchUp() { return inTurn(async () => take(await ask("changes", { after: state.commit, wait: 0 }))); }

async function take(change) {
  tellLive("live", true);
  if (change.isReplaced || change.opened !== state.begin.opened) { await start(); route(); return; }
  if (state.begin.writes) await refreshPending();
  if (change.commit === state.commit) return;
  state.commit = change.commit;
  $("live").title = `commit ${count(state.commit)}`;
  await start();
  await state.view?.changed?.(change);
}

// Waits for its turn among the pages that are seen, and then for changes, until this one is hidden or closed.
async function follow() {
  if (following.stop || document.hidden) return;
  const stop = following.stop = new AbortController();
  try {
    // Where a browser has no locks, each page that is seen waits for itself.
    if (navigator.locks) await navigator.locks.request(commits, { signal: stop.signal }, () => waitForChanges(stop.signal));
    else await waitForChanges(stop.signal);
  } catch (error) { tellTrouble(error); } finally { Object.assign(following, { stop: null, isWaiting: false }); }
  // It may be seen again by now.
  follow();
}

async function waitForChanges(signal) {
  following.isWaiting = true;
  while (!signal.aborted) {
    try {
      const after = state.commit, change = await ask("changes", { after, wait: 25 }, { signal });
      if (signal.aborted) return;
      const begun = performance.now(), isNews = change.isReplaced || change.commit !== after;
      if (isNews) followers.postMessage(change.isReplaced ? null : change.commit);
      // It may have caught up meanwhile.
      await inTurn(() => state.commit === after ? take(change) : null);
      // A store that is written all the time is looked at for a fifth of the time at most.
      if (isNews) await new Promise((done) => setTimeout(done, 300 + 4 * (performance.now() - begun)));
    } catch (error) {
      tellTrouble(error);
      if (!signal.aborted) await new Promise((done) => setTimeout(done, 2000));
    }
  }
}
