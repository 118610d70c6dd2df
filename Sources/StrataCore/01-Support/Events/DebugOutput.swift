import Foundation

/// What is written while a developer looks for waste: one line for each request, save and batch, to standard error or to the observers of messages.
///
///     STRATA_DEBUG=plan,time        the plan of each request and how long the store took
///     STRATA_DEBUG=4                everything; 1 to 4 are plan, and time, and rows, and faults
///
/// Read once, when the first context is made; `ManagedObjectContext.debugOutput` sets it at any time. Costs one load for each
/// request while it is off.
public struct DebugOutput: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// How requests are executed: the index and its ranges, or a scan.
  public static let plan = DebugOutput(rawValue: 1)
  /// How long the store took for a request, a save, a batch.
  public static let time = DebugOutput(rawValue: 2)
  /// How many rows requests, saves and batches were about.
  public static let rows = DebugOutput(rawValue: 4)
  /// Each fault that was fired, of a row or of a relationship.
  public static let faults = DebugOutput(rawValue: 8)
  static let all = DebugOutput(rawValue: 0xFF)

  /// The environment variable.
  static let variable = "STRATA_DEBUG"
  private static let names: [(String, DebugOutput)] = [
    ("plan", .plan), ("time", .time), ("rows", .rows), ("faults", .faults),
  ]

  /// What the text asks for: names or a number, separated by commas; and what of it says nothing.
  static func parse(_ text: String) -> (output: DebugOutput, unknown: [String]) {
    var output: DebugOutput = []
    var unknown: [String] = []
    for part in text.split(separator: ",") {
      let word = part.trimmingCharacters(in: .whitespaces).lowercased()
      if let known = names.first(where: { $0.0 == word }) {
        output.insert(known.1)
      } else if let level = Int(word), (0...names.count).contains(level) {
        for (_, known) in names.prefix(level) { output.insert(known) }
      } else if !word.isEmpty {
        unknown.append(String(part))
      }
    }
    return (output, unknown)
  }

  /// What is to be written now.
  @inline(__always)
  static var current: DebugOutput {
    get { Watching.debugOutput }
    set { Watching.debugOutput = newValue }
  }

  /// Reads the environment variable once.
  static let environmentSwitch: Void = {
    guard let text = ProcessInfo.processInfo.environment[variable] else { return }
    let (output, unknown) = parse(text)
    if !output.isEmpty { current = output }
    if unknown.isEmpty { return }
    // Whoever asks first waits for this.
    Diagnostics.writeUnderLock(
      "\(variable) does not know \(unknown.map { "“\($0)”" }.joined(separator: ", ")); it takes "
        + "\(names.map(\.0).joined(separator: ", ")), or a number from 1 to \(names.count).", .warning)
  }()

  /// Writes one line: a message of level debug, or what a test's handler gets.
  static func write(_ line: String) {
    if let listener = listener.withLock({ $0 }) { return listener(line) }
    Diagnostics.write(line, .debug)
  }

  /// For tests: gets the lines instead of everybody else.
  static let listener = Mutex<(@Sendable (String) -> Void)?>(nil)
}
