import Foundation
import StrataCore
import Testing

/// Two network namespaces, each with a link of its own to this one, where the server is. They go with it.
final class NetworkStand: Sendable {
  /// One namespace.
  struct Place: Sendable {
    let name: String
    /// The end of its link that is here.
    let link: String
    /// The address of that end.
    let address: String
  }

  private static let count = Mutex(0)

  let places: [Place]
  /// The addresses of all of them.
  let range: String

  private struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private static let program = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// Why there can be none here; nil when there can.
  static let obstacle: String? = {
    guard program != nil else {
      return "Network namespaces are made with the program ip (package iproute2), which is not here."
    }
    do {
      _ = try NetworkStand()
      return nil
    } catch {
      return "This process may not make network namespaces and links, which takes root's rights: \(error)"
    }
  }()

  /// - Throws: what the program `ip` says; nothing is left behind.
  init() throws {
    // No two stands of a process, and hardly two of different ones, have the same.
    let count = Self.count.withLock { count in
      count += 1
      return count
    }
    let mark = (Int(getpid()) * 8 + count) % 250
    range = "10.213.\(mark).0/24"
    places = (0..<2).map { number in
      Place(
        name: "strata\(getpid())-\(count)-\(number)", link: "st\(mark)h\(number)",
        address: "10.213.\(mark).\(number * 4 + 1)")
    }
    do {
      for (number, place) in places.enumerated() {
        let (far, farAddress) = ("st\(mark)f\(number)", "10.213.\(mark).\(number * 4 + 2)")
        try Self.run("netns", "add", place.name)
        try Self.run("link", "add", place.link, "type", "veth", "peer", "name", far, "netns", place.name)
        try Self.run("address", "add", "\(place.address)/30", "dev", place.link)
        try Self.run("link", "set", place.link, "up")
        try Self.run("-n", place.name, "address", "add", "\(farAddress)/30", "dev", far)
        try Self.run("-n", place.name, "link", "set", far, "up")
      }
    } catch {
      remove()
      throw error
    }
  }

  deinit { remove() }

  private func remove() {
    for place in places {
      try? Self.run("link", "delete", place.link)
      try? Self.run("netns", "delete", place.name)
    }
  }

  /// What stands before a program's name so that it runs in the place.
  func words(_ place: Int) -> [String] { [Self.program ?? "ip", "netns", "exec", places[place].name] }

  /// Takes the link away, or brings it back: packets are lost meanwhile, and nobody is told.
  func setLink(_ place: Int, isUp: Bool) throws {
    try Self.run("link", "set", places[place].link, isUp ? "up" : "down")
  }

  private static func run(_ words: String...) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program ?? "/usr/sbin/ip")
    process.arguments = words
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let said = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(
        description:
          "“ip \(words.joined(separator: " "))” says: \(said.trimmingCharacters(in: .whitespacesAndNewlines))"
      )
    }
  }
}
