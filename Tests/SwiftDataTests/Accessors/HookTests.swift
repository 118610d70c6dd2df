import CoreData
import StrataCore
import SwiftData
import Synchronization
import Testing

/// Has methods that are hooks of Core Data's objects by their names, and nothing special here.
@Model
final class Hooked {
  var name: String
  @Transient var calls: [String] = []
  init(_ name: String) { self.name = name }

  func awakeFromInsert() { calls.append("awakeFromInsert") }
  func awakeFromFetch() { calls.append("awakeFromFetch") }
  func willSave() { calls.append("willSave") }
  func didSave() { calls.append("didSave") }
  func willTurnIntoFault() { calls.append("willTurnIntoFault") }
  func didTurnIntoFault() { calls.append("didTurnIntoFault") }
  func prepareForDeletion() { calls.append("prepareForDeletion") }
  func validateForInsert() throws { throw CocoaError(.validationMissingMandatoryProperty) }
  func validateForUpdate() throws { throw CocoaError(.validationMissingMandatoryProperty) }
  func validateForDelete() throws { throw CocoaError(.validationMissingMandatoryProperty) }
  func validateValue(_ value: inout Any?, forKey key: String) throws {
    throw CocoaError(.validationMissingMandatoryProperty)
  }
}

/// Counts the instances that there are.
@Model
final class Counted {
  static let living = Mutex((now: 0, most: 0))
  var number: Int
  @Transient private var life = Life()
  init(_ number: Int) { self.number = number }

  private final class Life {
    init() {
      living.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
    }
    deinit { living.withLock { $0.now -= 1 } }
  }
}

@Suite("What models have no hooks for, and what leaves nothing behind")
struct HookTests {
  @Test("D11: methods named as Core Data's hooks are not called, and there are no fetched properties")
  func hooks() throws {
    let container = try ModelContainer(
      for: Hooked.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let hooked = Hooked("a")
    context.insert(hooked)
    try context.save()
    hooked.name = "b"
    try context.save()
    let other = ModelContext(container)
    let same = try #require(try other.fetch(FetchDescriptor<Hooked>()).first)
    #expect(same.name == "b")
    other.managedObjectContext.refreshAllObjects()
    #expect(same.name == "b")
    same.name = "c"
    other.rollback()
    other.delete(same)
    try other.save()
    context.processPendingChanges()
    try context.save()
    #expect(hooked.calls.isEmpty && same.calls.isEmpty)
    let model = try #require(NSManagedObjectModel.makeManagedObjectModel(for: [Hooked.self, Book.self]))
    for entity in model.entities {
      #expect(entity.properties.allSatisfy { !($0 is FetchedPropertyDescription) })
    }
  }

  @Test("K18: enumerate and batches of a fetch let go of what was looked at")
  func batches() throws {
    let container = try ModelContainer(
      for: Counted.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let filling = ModelContext(container)
    for number in 0..<2_000 { filling.insert(Counted(number)) }
    try filling.save()
    let context = ModelContext(container)
    let before = Counted.living.withLock {
      $0.most = $0.now
      return $0.now
    }
    var sum = 0
    try context.enumerate(FetchDescriptor<Counted>(), batchSize: 100) { sum += $0.number }
    #expect(sum == 2_000 * 1_999 / 2)
    let (now, most) = Counted.living.withLock { $0 }
    #expect(now == before)
    #expect(most - before <= 100)
    let found = try context.fetch(FetchDescriptor<Counted>(sortBy: [SortDescriptor(\.number)]), batchSize: 50)
    #expect(found.map(\.number) == Array(0..<2_000))
    #expect(Counted.living.withLock { $0.now } == before)
  }

  @Test("K18: contexts that save by themselves, and deletions before, between and behind those saves")
  @MainActor
  func autosaveAndDeletion() async throws {
    let container = try ModelContainer(
      for: Hooked.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = container.mainContext
    let saves = Mutex(0)
    let token = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { _ in saves.withLock { $0 += 1 } }
    defer { NotificationCenter.default.removeObserver(token) }
    for round in 0..<100 {
      let (kept, gone, never) = (Hooked("kept \(round)"), Hooked("gone"), Hooked("never"))
      for model in [kept, gone, never] { context.insert(model) }
      context.delete(never)
      if round % 2 == 0 { await Task.yield() }
      context.delete(gone)
      context.delete(gone)
      if round % 3 == 0 { await Task.yield() }
      kept.name = "kept \(round)!"
    }
    for _ in 0..<2_000 where context.hasChanges { try await Task.sleep(for: .milliseconds(5)) }
    #expect(!context.hasChanges)
    #expect(saves.withLock { $0 } > 0)
    let names = try ModelContext(container).fetch(FetchDescriptor<Hooked>()).map(\.name)
    #expect(names.sorted() == (0..<100).map { "kept \($0)!" }.sorted())
  }

  @Test(
    "U12: what only the newest systems are said to have works: cases of enums in predicates, .codable, sorted history"
  )
  func newest() throws {
    let container = try ModelContainer(
      for: Gauge.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    for (number, mood) in [(1, Mood.calm), (2, .merry), (3, .sad)] {
      let gauge = Gauge(number)
      gauge.mood = mood
      context.insert(gauge)
      try context.save()
    }
    let merry = Mood.merry
    let found = try context.fetch(FetchDescriptor<Gauge>(predicate: #Predicate { $0.mood == merry }))
    #expect(found.map(\.whole) == [2])
    #expect(found.first?.packed == "packed 2")
    let newestFirst = try context.fetchHistory(
      HistoryDescriptor<DefaultHistoryTransaction>(
        predicate: nil, sortBy: [SortDescriptor(\.transactionIdentifier, order: .reverse)]))
    #expect(newestFirst.count == 3)
    #expect(
      newestFirst.map(\.transactionIdentifier) == newestFirst.map(\.transactionIdentifier).sorted(by: >))
  }
}
