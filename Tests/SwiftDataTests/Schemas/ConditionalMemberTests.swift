import SwiftData
import Testing

// Written as a library does that is built with Apple's SwiftData, with this one, and without either. Macros are sure that SwiftData can be imported, and of `NoSuchModule` they
// are told nothing.

private enum Workshop {
  #if canImport(SwiftData)
    @Model
  #endif
  final class Gauge {
    #if canImport(SwiftData)
      #Unique<Gauge>([\.serial])
      #Index<Gauge>([\.reading])
    #endif
    #if canImport(SwiftData)
      @Attribute(originalName: "label")
    #endif
    var name: String
    var serial: Int
    #if canImport(SwiftData)
      @Relationship(deleteRule: .cascade, inverse: \Needle.gauge)
    #endif
    var needles: [Needle] = []
    #if canImport(SwiftData)
      @Transient
    #endif
    var isShown = false
    #if canImport(SwiftData)
      var reading = 1.5
    #else
      @Published var reading = 1.5
    #endif

    init(_ name: String, serial: Int) {
      self.name = name
      self.serial = serial
    }
  }

  @Model final class Needle {
    var length = 1
    var gauge: Gauge?
    init() {}
  }

  @Model class Tool {
    #if canImport(NoSuchModule)
      var missing: NoSuchType
    #elseif !canImport(NoSuchModule)
      var weight: Int
      var maker: String?
    #endif
    #if canImport(NoSuchModule)
      @Attribute(originalName: "never")
    #else
      @Attribute(.unique, originalName: "title")
    #endif
    var name = ""
    #if !canImport(NoSuchModule)
      #Index<Tool>([\.weight])
    #endif

    init(weight: Int) { self.weight = weight }
  }

  @Model final class Saw: Tool {
    #if !canImport(NoSuchModule)
      var teeth = 8
      @Relationship(inverse: \Board.saw) var boards: [Board] = []
    #endif
    var colour = "red"

    override init(weight: Int) { super.init(weight: weight) }
  }

  @Model final class Board {
    #if canImport(NoSuchModule)
      var saw: Int = 0
    #else
      var saw: Saw?
    #endif
    init() {}
  }
}

@Suite("What stands in #if in a model")
struct ConditionalMemberTests {
  private func container(_ types: any PersistentModel.Type...) throws -> ModelContainer {
    try ModelContainer(
      for: Schema(types), configurations: ModelConfiguration(isStoredInMemoryOnly: true))
  }

  @Test("Attributes, keys and properties behind canImport(SwiftData) count as if they stood there alone")
  func sure() throws {
    let container = try container(Workshop.Gauge.self, Workshop.Needle.self)
    let entity = try #require(container.schema.entity(for: Workshop.Gauge.self))
    #expect(entity.uniquenessConstraints == [["serial"]])
    #expect(entity.indices == [["reading"]])
    #expect(entity.attributesByName["name"]?.originalName == "label")
    #expect(entity.attributesByName.keys.sorted() == ["name", "reading", "serial"])

    let context = ModelContext(container)
    let gauge = Workshop.Gauge("pressure", serial: 7)
    gauge.needles = [Workshop.Needle(), Workshop.Needle()]
    gauge.reading = 2.5
    context.insert(gauge)
    try context.save()
    let other = ModelContext(container)
    let found = try #require(
      try other.fetch(FetchDescriptor<Workshop.Gauge>(predicate: #Predicate { $0.reading == 2.5 })).first)
    #expect(found.needles.count == 2)
    #expect(found.needles.allSatisfy { $0.gauge === found })
    other.insert(Workshop.Gauge("heat", serial: 7))
    try other.save()
    #expect(try other.fetch(FetchDescriptor<Workshop.Gauge>()).map(\.name) == ["heat"])
    for gauge in try other.fetch(FetchDescriptor<Workshop.Gauge>()) { other.delete(gauge) }
    try other.save()
    #expect(try other.fetchCount(FetchDescriptor<Workshop.Needle>()) == 0)
  }

  @Test("Of a condition that no macro is told of, the compiler's branch is what the store has")
  func unsure() throws {
    let container = try container(Workshop.Tool.self, Workshop.Saw.self, Workshop.Board.self)
    let entity = try #require(container.schema.entity(for: Workshop.Tool.self))
    #expect(entity.attributesByName.keys.sorted() == ["maker", "name", "weight"])
    #expect(entity.attributesByName["name"]?.originalName == "title")
    #expect(entity.uniquenessConstraints == [["name"]])
    #expect(entity.indices == [["weight"]])

    let context = ModelContext(container)
    let saw = Workshop.Saw(weight: 3)
    saw.maker = "Blom"
    saw.name = "fretsaw"
    saw.teeth = 12
    saw.colour = "blue"
    saw.boards = [Workshop.Board()]
    context.insert(saw)
    try context.save()
    let other = ModelContext(container)
    let found = try #require(
      try other.fetch(
        FetchDescriptor<Workshop.Saw>(predicate: #Predicate { $0.teeth == 12 && $0.weight == 3 })
      ).first)
    #expect(found.maker == "Blom")
    #expect(found.name == "fretsaw")
    #expect(found.colour == "blue")
    #expect(found.boards.map { $0.saw === found } == [true])
    found.weight = 4
    try other.save()
    #expect(
      try context.fetch(FetchDescriptor<Workshop.Tool>(sortBy: [SortDescriptor(\.weight)])).map(\.weight) == [
        4
      ])
  }
}
