import ArgumentParser
import CoreData

/// The process in which one story runs. Its main thread serves the main queue.
struct Worker: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Tells one story.", shouldDisplay: false)

  @Option var seed: UInt64
  @Option var operations: Int
  @Option(help: "A file with the numbers of steps that are left out.") var skipping: String?
  @Flag var loud = false

  func run() throws {
    var settings = StorySettings(seed: seed, operations: operations)
    settings.isLoud = loud
    if let skipping {
      let text = try String(contentsOfFile: skipping, encoding: .utf8)
      settings.skipped = Set(text.split(separator: " ").compactMap { Int($0) })
    }
    let story = Thread { [settings] in
      Foundation.exit(Self.tell(settings))
    }
    story.stackSize = 16 << 20
    story.start()
    dispatchMain()
  }

  private static func tell(_ settings: StorySettings) -> Int32 {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "stacks-\(ProcessInfo.processInfo.processIdentifier)")
    defer { try? FileManager.default.removeItem(at: folder) }
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let run = try GraphRun(settings, folder: folder, disk: BrokenDisk(folder))
      try run.run()
      let counts = run.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
      print(
        "agreed: seed \(settings.seed), \(settings.operations) operations: \(counts.joined(separator: ", "))")
      return 0
    } catch {
      print("disagreed: \(error)")
      return 1
    }
  }
}
