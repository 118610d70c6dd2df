import StrataCore
import SwiftData
import Testing

/// A property of each type that accessors have a short way for, and some beside them that look alike and are stored otherwise.
@Model
final class Gauge {
  var mood = Mood.calm
  var text: String
  var whole: Int
  var long: Int64
  var real: Double
  var truth: Bool
  var moment: Date
  var uuid: UUID
  var noText: String?
  var noWhole: Int?
  var noLong: Int64?
  var noReal: Double?
  var noTruth: Bool?
  var noMoment: Date?
  var level = 7
  var unit: String? = "m"
  @Attribute(.codable) var packed: String
  @Attribute(.codable) var noPacked: Int?
  @Attribute(.ephemeral) var shown: String?
  var code: String!

  /// Everything but nil, zero and false.
  init(_ number: Int) {
    text = "text \(number)"
    whole = number
    long = Int64(number) + 1
    real = Double(number) + 0.5
    truth = true
    moment = Date(timeIntervalSinceReferenceDate: Double(number))
    uuid = UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(truncatingIfNeeded: number)))
    packed = "packed \(number)"
  }

  /// What there is of optional values.
  func fill(_ number: Int) {
    noText = "\(number)"
    noWhole = number
    noLong = Int64(number)
    noReal = Double(number)
    noTruth = false
    noMoment = Date(timeIntervalSinceReferenceDate: Double(number))
    noPacked = number
    shown = "shown"
    code = "code \(number)"
    unit = nil
  }

  func empty() {
    (text, whole, long, real, truth) = ("", 0, 0, 0, false)
    (noText, noWhole, noLong, noReal, noTruth, noMoment, noPacked) = (nil, nil, nil, nil, nil, nil, nil)
    unit = "cm"
  }

  /// All values as text.
  var values: [String] {
    let must: [Any] = [
      mood, text, whole, long, real, truth, moment.timeIntervalSinceReferenceDate, uuid, level, packed,
    ]
    let may: [Any?] = [
      noText, noWhole, noLong, noReal, noTruth, noMoment?.timeIntervalSinceReferenceDate, unit, noPacked,
      code,
    ]
    return must.map { "\($0)" } + may.map { $0.map { "\($0)" } ?? "nil" }
  }

  static func expected(_ number: Int, isFilled: Bool) -> [String] {
    let must: [Any] = [
      Mood.calm, "text \(number)", number, number + 1, Double(number) + 0.5, true, Double(number),
      UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(truncatingIfNeeded: number))), 7,
      "packed \(number)",
    ]
    let may: [Any?] =
      isFilled
      ? [
        "\(number)", number, number, Double(number), false, Double(number), nil, number, "code \(number)",
      ] : [nil, nil, nil, nil, nil, nil, "m", nil, nil]
    return must.map { "\($0)" } + may.map { $0.map { "\($0)" } ?? "nil" }
  }
}

@Suite("Accessors")
struct AccessorTests {
  private func container() throws -> ModelContainer {
    try ModelContainer(
      for: Gauge.self, Journey.self, Flight.self,
      configurations: ModelConfiguration(isStoredInMemoryOnly: true))
  }

  @Test("R7: values are the same in a draft, a new row, a saved one, a fault, an edited row and a dead one")
  func everywhere() throws {
    let container = try container()
    let context = ModelContext(container)
    let (plain, filled) = (Gauge(1), Gauge(2))
    filled.fill(2)
    func check(_ plain: Gauge, _ filled: Gauge, _ where: Comment) {
      #expect(plain.values == Gauge.expected(1, isFilled: false), `where`)
      #expect(filled.values == Gauge.expected(2, isFilled: true), `where`)
    }
    check(plain, filled, "drafts")
    context.insert(plain)
    context.insert(filled)
    check(plain, filled, "new rows")
    #expect(filled.shown == "shown")
    try context.save()
    check(plain, filled, "saved rows")
    let other = ModelContext(container)
    let found = try other.fetch(FetchDescriptor<Gauge>(sortBy: [SortDescriptor(\.whole)]))
    check(found[0], found[1], "fetched")
    let faults = ModelContext(container)
    let byID = [plain, filled].compactMap { faults.model(for: $0.persistentModelID) as? Gauge }
    check(byID[0], byID[1], "by identifier")
    #expect(byID[1].shown == nil)
    byID[0].mood = .merry
    #expect(byID[0].values.dropFirst() == Gauge.expected(1, isFilled: false).dropFirst(), "edited")
    faults.rollback()
    check(byID[0], byID[1], "rolled back")
    for model in [plain, filled] { context.delete(model) }
    check(plain, filled, "to be deleted")
    try context.save()
    check(plain, filled, "deleted")
  }

  @Test("R7: a fault that cannot be read is told once for each read, whatever the property's type")
  func unreadable() throws {
    let container = try container()
    let context = ModelContext(container)
    let made = Gauge(1)
    context.insert(made)
    try context.save()
    let other = ModelContext(container)
    let gauge = try #require(other.model(for: made.persistentModelID) as? Gauge)
    let core = other.managedObjectContext
    core.refreshAllObjects()
    let coordinator = try #require(core.persistentStoreCoordinator)
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    var told = 0
    core.readFailureHandler = { _ in told += 1 }
    let reads: [(String, () -> Void)] = [
      ("String", { _ = gauge.text }), ("String?", { _ = gauge.noText }), ("Int", { _ = gauge.whole }),
      ("Int?", { _ = gauge.noWhole }), ("Int64", { _ = gauge.long }), ("Double", { _ = gauge.real }),
      ("Double?", { _ = gauge.noReal }), ("Bool", { _ = gauge.truth }), ("Bool?", { _ = gauge.noTruth }),
      ("Date", { _ = gauge.moment }), ("Date?", { _ = gauge.noMoment }), ("UUID", { _ = gauge.uuid }),
    ]
    for (type, read) in reads {
      told = 0
      read()
      #expect(told == 1, "\(type)")
    }
  }

  @Test("R7: zero, false, the empty text and nil are values, and what has no value shows its default")
  func nothing() throws {
    let context = ModelContext(try container())
    let gauge = Gauge(3)
    gauge.fill(3)
    context.insert(gauge)
    try context.save()
    gauge.empty()
    try context.save()
    let same = try #require(try ModelContext(context.container).fetch(FetchDescriptor<Gauge>()).first)
    for model in [gauge, same] {
      #expect(model.text.isEmpty && model.whole == 0 && model.long == 0 && model.real == 0 && !model.truth)
      #expect(model.noText == nil && model.noWhole == nil && model.noLong == nil && model.noReal == nil)
      #expect(model.noTruth == nil && model.noMoment == nil && model.noPacked == nil && model.unit == "cm")
    }
    // Another program may have stored nil.
    let row = try #require(same.persistentBackingData as AnyObject as? ManagedObject)
    for name in ["level", "text", "whole", "real", "truth"] { row.setValue(nil, forKey: name) }
    #expect(same.level == 7)
    #expect(same.text.isEmpty && same.whole == 0 && same.real == 0 && !same.truth)
  }

  @Test("S20, R6: a submodel's own properties, and those that it inherits")
  func submodel() throws {
    let context = ModelContext(try container())
    let flight = Flight("KL", to: "Oslo", miles: 5)
    #expect(flight.goal == "Oslo" && flight.miles == 5 && flight.carrier == "KL" && flight.seat == nil)
    context.insert(flight)
    #expect(flight.goal == "Oslo" && flight.miles == 5 && flight.carrier == "KL" && flight.seat == nil)
    flight.seat = "1A"
    try context.save()
    let other = ModelContext(context.container)
    let found = try #require(try other.fetch(FetchDescriptor<Journey>()).first as? Flight)
    #expect(found.goal == "Oslo" && found.miles == 5 && found.carrier == "KL" && found.seat == "1A")
    let plain: Journey = found
    #expect(plain.goal == "Oslo")
  }
}

@Model
class Journey {
  var goal: String
  var miles: Int
  init(to goal: String, miles: Int) {
    self.goal = goal
    self.miles = miles
  }
}

@Model
final class Flight: Journey {
  var carrier: String
  var seat: String?
  init(_ carrier: String, to goal: String, miles: Int) {
    self.carrier = carrier
    super.init(to: goal, miles: miles)
  }
}
