import SwiftData
import Testing

/// Numbers as another program has stored them.
enum GaugeOfOthers {
  @Model final class Gauge {
    var name = ""
    var small: Int16 = 0
    var word: Int32 = 0
    var long: Int64 = 0
    var huge = Decimal(0)
    var spare: Int16?
    var level: Int16 = 0
    init() {}
  }
}

/// The same attributes with types that have not all of those values.
enum GaugeHere {
  enum Level: UInt8, Codable { case low, high }
  @Model final class Gauge {
    var name = ""
    var small: UInt8 = 7
    var word: UInt16 = 8
    var long: UInt32 = 9
    var huge: UInt64 = 10
    var spare: Int8?
    var level = Level.low
    init() {}
  }
}

@Suite("Numbers that their type does not have")
struct MisfitNumberTests {
  private typealias Gauge = GaugeHere.Gauge

  private let folder: Folder

  init() throws {
    folder = try Folder()
    let context = try others()
    let gauge = GaugeOfOthers.Gauge()
    (gauge.small, gauge.word, gauge.long) = (300, -1, Int64(UInt32.max) + 1)
    (gauge.huge, gauge.spare, gauge.level) = (Decimal(-1), 200, 300)
    context.insert(gauge)
    try context.save()
  }

  private func others() throws -> ModelContext {
    ModelContext(
      try ModelContainer(
        for: GaugeOfOthers.Gauge.self, configurations: ModelConfiguration(url: folder.file())))
  }

  private func open() throws -> (context: ModelContext, gauge: Gauge) {
    let context = ModelContext(
      try ModelContainer(
        for: Gauge.self,
        configurations: ModelConfiguration(schema: Schema([Gauge.self]), url: folder.file())))
    context.autosaveEnabled = false
    return (context, try #require(try context.fetch(FetchDescriptor<Gauge>()).first))
  }

  private func expectAll() throws {
    let gauge = try #require(try others().fetch(FetchDescriptor<GaugeOfOthers.Gauge>()).first)
    #expect(gauge.small == 300 && gauge.word == -1 && gauge.long == Int64(UInt32.max) + 1)
    #expect(gauge.huge == Decimal(-1) && gauge.spare == 200 && gauge.level == 300)
  }

  @Test("They read as the initial value or nil, and other edits are saved beside them")
  func read() throws {
    let (context, gauge) = try open()
    #expect(gauge.small == 7 && gauge.word == 8 && gauge.long == 9 && gauge.huge == 10)
    #expect(gauge.spare == nil && gauge.level == .low)
    gauge.name = "edited"
    try context.save()
    try expectAll()
  }

  @Test("A save that would replace one that was read is refused, with model and property")
  func refused() throws {
    let edits: [(name: String, edit: (Gauge) -> Void)] = [
      ("small", { $0.small += 1 }), ("word", { $0.word += 1 }), ("long", { $0.long += 1 }),
      ("huge", { $0.huge += 1 }), ("spare", { $0.spare = ($0.spare ?? 0) + 1 }),
      ("level", { $0.level = $0.level == .low ? .high : .low }),
    ]
    for (name, edit) in edits {
      let (context, gauge) = try open()
      edit(gauge)
      let error = #expect(throws: CocoaError.self) { try context.save() }
      #expect(error?.code.rawValue == 1550, "\(name)")
      #expect(error?.userInfo["NSValidationErrorKey"] as? String == name)
      context.rollback()
      gauge.name = name
      try context.save()
    }
    try expectAll()
  }

  @Test("One that is set without reading takes the place of what was stored")
  func givenUp() throws {
    let (context, gauge) = try open()
    (gauge.small, gauge.word, gauge.long, gauge.huge) = (1, 2, 3, 4)
    (gauge.spare, gauge.level) = (5, .high)
    try context.save()
    gauge.small += 1
    gauge.huge += 1
    try context.save()
    let (_, again) = try open()
    #expect(again.small == 2 && again.word == 2 && again.long == 3 && again.huge == 5)
    #expect(again.spare == 5 && again.level == .high)
  }
}
