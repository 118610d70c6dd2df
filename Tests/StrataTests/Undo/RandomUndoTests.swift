import Foundation
import Strata
import Testing

/// Random work in a context with an undo manager, beside a reference that keeps a whole copy of the world for each group
/// (rules 234–240).
struct RandomUndoTests {
  /// A record's values, as the reference knows them.
  struct Values: Equatable {
    var title: String
    var pages: Int64
    var remark: String?
    var tide: String?
  }

  /// By number, in the order of their insertion.
  typealias World = [Int: Values]

  /// The reference: worlds instead of changes.
  struct Reference {
    var live: World = [:]
    var saved: World = [:]
    /// Transient values outlive a rollback.
    var tides: [Int: String?] = [:]
    var undoStack: [World] = []
    var redoStack: [World] = []
    private var groupStart: World?
    private var eventStart: World = [:]
    let levels: Int

    init(levels: Int) { self.levels = levels }

    /// What a fetch does.
    mutating func tell(isEnabled: Bool = true) {
      if live != eventStart, isEnabled {
        if groupStart == nil { groupStart = eventStart }
        redoStack = []
      }
      eventStart = live
    }

    /// The end of an event.
    mutating func process(isEnabled: Bool = true) {
      tell(isEnabled: isEnabled)
      if let groupStart { push(groupStart, &undoStack) }
      groupStart = nil
    }

    mutating func undo() {
      process()
      guard let world = undoStack.popLast() else { return }
      push(live, &redoStack)
      move(to: world)
    }

    mutating func redo() {
      process()
      guard let world = redoStack.popLast() else { return }
      push(live, &undoStack)
      move(to: world)
    }

    mutating func save() {
      process()
      saved = live
    }

    mutating func rollback() {
      process()
      undoStack = []
      redoStack = []
      for (id, values) in live { tides[id] = values.tide }
      live = saved
      for id in live.keys { if let tide = tides[id] { live[id]?.tide = tide } }
      eventStart = live
    }

    mutating func delete(_ id: Int) {
      if let values = live.removeValue(forKey: id) { tides[id] = values.tide }
    }

    private mutating func move(to world: World) {
      for (id, values) in live { tides[id] = values.tide }
      live = world
      eventStart = world
    }

    private func push(_ world: World, _ stack: inout [World]) {
      stack.append(world)
      if levels > 0, stack.count > levels { stack.removeFirst() }
    }
  }

  @Test(
    "rules 234–240: random work is undone, redone, saved and rolled back as in the reference",
    arguments: TortureSettings.seeds)
  func againstReference(seed: UInt64) throws {
    print("RandomUndoTests seed \(seed)")
    try run(Dice(seed: seed), operations: TortureSettings.steps / 5, levels: seed % 3 == 0 ? 4 : 0)
  }

  private func run(_ dice: Dice, operations: Int, levels: Int) throws {
    var dice = dice
    let seed = dice.seed
    let store = try TemporaryStore()
    let context = store.context()
    let manager = UndoManager()
    manager.levelsOfUndo = levels
    context.undoManager = manager
    var reference = Reference(levels: levels)
    var objects: [(id: ManagedObjectID, diary: Diary)] = []
    var log: [String] = []

    func someone() -> (Int, Diary)? {
      let present = reference.live.keys.sorted()
      guard !present.isEmpty else { return nil }
      let id = present[dice.roll(present.count)]
      return (id, objects[id].diary)
    }

    for step in 0..<operations {
      let operation = dice.roll(100)
      switch operation {
      case 0..<15:
        let diary = Diary(context: context)
        let title = dice.word()
        diary.title = title
        objects.append((diary.objectID, diary))
        reference.live[objects.count - 1] = Values(title: title, pages: 0, remark: nil, tide: "low")
        log.append("insert \(objects.count - 1)")
      case 15..<45:
        for _ in 0...dice.roll(3) {
          guard let (id, diary) = someone() else { break }
          switch dice.roll(4) {
          case 0:
            let title = dice.word()
            diary.title = title
            reference.live[id]?.title = title
          case 1:
            let pages = Int64(dice.roll(3))
            diary.pages = pages
            reference.live[id]?.pages = pages
          case 2:
            let remark = dice.roll(3) == 0 ? nil : dice.word()
            diary.remark = remark
            reference.live[id]?.remark = remark
          default:
            let tide = dice.roll(3) == 0 ? nil : dice.word()
            diary.tide = tide
            reference.live[id]?.tide = tide
          }
          log.append("edit \(id)")
        }
      case 45..<55:
        guard let (id, diary) = someone() else { break }
        context.delete(diary)
        reference.delete(id)
        log.append("delete \(id)")
      case 55..<65:
        context.processPendingChanges()
        reference.process()
        log.append("process")
      case 65..<69:
        _ = try context.count(for: FetchRequest<Diary>(entityName: "Diary"))
        reference.tell()
        log.append("fetch")
      case 69..<82:
        context.undo()
        reference.undo()
        log.append("undo")
      case 82..<91:
        context.redo()
        reference.redo()
        log.append("redo")
      case 91..<97:
        try context.save()
        reference.save()
        log.append("save")
      case 97..<98:
        context.rollback()
        reference.rollback()
        log.append("rollback")
      default:
        guard let (id, diary) = someone() else { break }
        // Without undo, as rule 236 says, and something that will not prevent what is undone.
        context.refresh(diary, mergeChanges: true)
        log.append("refresh \(id)")
      }
      let story = { "seed \(seed), step \(step): \(log.suffix(12).joined(separator: ", "))" }
      for (id, (objectID, diary)) in objects.enumerated() {
        let isPresent = diary.managedObjectContext === context && !diary.isDeleted
        guard let expected = reference.live[id] else {
          try #require(!isPresent, "\(id) is here: \(story())")
          continue
        }
        try #require(isPresent, "\(id) is not here: \(story())")
        let found = Values(
          title: diary.title ?? "", pages: diary.pages, remark: diary.remark, tide: diary.tide)
        try #require(found == expected, "\(id) \(found), not \(expected): \(story())")
        try #require(
          diary.objectID == objectID && context.registeredObject(for: objectID) === diary, "\(story())")
      }
      if !manager.canUndo { try #require(reference.undoStack.isEmpty || operation < 65, "\(story())") }
      if Self.stored(reference.live) != Self.stored(reference.saved) {
        try #require(context.hasChanges, "something is to be saved: \(story())")
      }
      if (91..<97).contains(operation) {
        let reader = store.context()
        var found: World = [:]
        for diary in try reader.fetch(FetchRequest<Diary>(entityName: "Diary")) {
          let id = try #require(objects.firstIndex { $0.id == diary.objectID })
          found[id] = Values(
            title: diary.title ?? "", pages: diary.pages, remark: diary.remark, tide: nil)
        }
        try #require(found == Self.stored(reference.saved), "what was saved: \(story())")
        try #require(!context.hasChanges, "\(story())")
      }
    }
  }

  /// What of a world a store keeps.
  private static func stored(_ world: World) -> World {
    world.mapValues {
      var values = $0
      values.tide = nil
      return values
    }
  }
}
