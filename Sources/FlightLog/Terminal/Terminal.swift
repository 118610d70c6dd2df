import Foundation
import Synchronization

/// Where the program writes: results to standard output, complaints to standard error, a progress bar below both.
///
/// Callable from any thread; one lock orders the lines. On a terminal the bar is one line drawn again and again; in a pipe or
/// a file each tenth of the work writes one plain line.
final class Terminal: Sendable {
  private struct State {
    var bar: ProgressBar?
    var isBarShown = false
    var plainTenths = 0
    var lastDrawn: ContinuousClock.Instant?
  }

  private let output: FileHandle
  private let errors: FileHandle
  private let isInteractive: Bool
  private let state = Mutex(State())

  init(output: FileHandle = .standardOutput, errors: FileHandle = .standardError) {
    self.output = output
    self.errors = errors
    isInteractive = isatty(output.fileDescriptor) == 1
  }

  func say(_ line: String) {
    write(line, to: output)
  }

  func complain(_ line: String) {
    write(line, to: errors)
  }

  /// Shows how far the work has come; the first call with another title begins a new bar.
  func show(_ bar: ProgressBar) {
    state.withLock { state in
      if state.bar?.title != bar.title { (state.plainTenths, state.lastDrawn) = (0, nil) }
      state.bar = bar
      let now = ContinuousClock.now
      if isInteractive {
        // Ten times a second is as much as an eye wants.
        if let last = state.lastDrawn, now - last < .milliseconds(100), bar.done < bar.total { return }
        state.lastDrawn = now
        draw(&state)
      } else if bar.tenths > state.plainTenths {
        state.plainTenths = bar.tenths
        output.write(Data((bar.plainLine + "\n").utf8))
      }
    }
  }

  /// Takes the bar away.
  func endBar() {
    state.withLock { state in
      erase(&state)
      state.bar = nil
    }
  }

  private func write(_ line: String, to file: FileHandle) {
    state.withLock { state in
      erase(&state)
      file.write(Data((line + "\n").utf8))
      if isInteractive, state.bar != nil { draw(&state) }
    }
  }

  private func draw(_ state: inout State) {
    guard let bar = state.bar else { return }
    output.write(Data(("\r\u{1B}[K" + bar.line).utf8))
    state.isBarShown = true
  }

  private func erase(_ state: inout State) {
    guard state.isBarShown else { return }
    output.write(Data("\r\u{1B}[K".utf8))
    state.isBarShown = false
  }
}
