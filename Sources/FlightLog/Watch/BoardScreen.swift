import Foundation

/// Where the board is drawn: over itself on a terminal, one below the other in a pipe or a file, there only when it is another one.
@MainActor
final class BoardScreen {
  private let output: FileHandle
  private let isInteractive: Bool
  private var hasBegun = false
  private var last: [String] = []

  init(output: FileHandle = .standardOutput) {
    self.output = output
    isInteractive = isatty(output.fileDescriptor) == 1
  }

  /// How many flights fit below the head; nil without a terminal.
  var rows: Int? {
    var size = winsize()
    guard isInteractive, ioctl(output.fileDescriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 4 else {
      return nil
    }
    return Int(size.ws_row) - 3
  }

  func draw(_ lines: [String]) throws {
    var text = ""
    if isInteractive {
      // Without a cursor; home; each line to its end, and what is below.
      text = (hasBegun ? "" : "\u{1B}[?25l\u{1B}[2J") + "\u{1B}[H"
      text += lines.map { $0 + "\u{1B}[K\r\n" }.joined() + "\u{1B}[J"
    } else {
      if hasBegun, lines == last { return }
      text = (hasBegun ? "\n" : "") + lines.map { $0 + "\n" }.joined()
    }
    hasBegun = true
    last = lines
    try output.write(contentsOf: Data(text.utf8))
  }

  /// Gives the cursor back.
  func end() {
    if isInteractive, hasBegun { output.write(Data("\u{1B}[?25h".utf8)) }
  }
}
