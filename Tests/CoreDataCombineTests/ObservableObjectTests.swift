import CoreDataCombine
import Observation
import Testing

@Suite("objectWillChange of managed objects")
struct ObservableObjectTests {
  @Test("It sends before a setter, when the object still has the old value")
  func setters() throws {
    try Library().withBook { book, context in
      let titles = Received<String?>()
      let subscription = book.objectWillChange.sink { titles.values.append(book.title) }
      book.title = "Persuasion"
      #expect(titles.take() == ["Emma"])
      book.pages = 3
      #expect(titles.take() == ["Persuasion"])
      book.mark = "here"
      #expect(titles.take() == ["Persuasion"])
      try context.save()
      #expect(titles.take() == [])
      subscription.cancel()
      book.title = nil
      #expect(titles.take() == [])
    }
  }

  @Test("Relationships, merges, refreshes and rollbacks send; what changes nothing does not")
  func otherChanges() throws {
    let library = try Library()
    try library.withBook { book, context in
      var count = 0
      let author = Novelist(context: context)
      try context.save()
      let subscription = book.objectWillChange.sink { count += 1 }
      func sent() -> Bool {
        context.processPendingChanges()
        defer { count = 0 }
        return count > 0
      }
      book.author = author
      #expect(sent())
      author.books = []
      #expect(sent())
      try context.save()
      #expect(!sent())
      // Of members that nobody has looked at nothing is known: it may send.
      context.refreshAllObjects()
      _ = sent()
      #expect(book.isFault)
      try library.changeElsewhere(book.objectID) { $0.title = "Evelina" }
      context.refresh(book, mergeChanges: true)
      #expect(sent())
      book.title = "Cecilia"
      #expect(sent())
      context.rollback()
      #expect(sent())
      author.name = "Fanny"
      #expect(!sent())
      _ = subscription
    }
  }

  @Test("It is one publisher as long as the object lives; what it is asked to send, it sends")
  func identity() throws {
    try Library().withBook { book, context in
      var count = 0
      let subscription = book.objectWillChange.sink { count += 1 }
      #expect(book.objectWillChange === book.objectWillChange)
      book.objectWillChange.send()
      #expect(count == 1)
      subscription.cancel()
      context.delete(book)
      context.processPendingChanges()
      #expect(count == 1)
    }
  }

  @Test("Generic code and @Published take managed objects for observable ones")
  func generics() throws {
    final class Model<Item: ObservableObject>: ObservableObject {
      @Published var revision = 0
      private var subscription: AnyCancellable?
      init(_ item: Item) {
        subscription = item.objectWillChange.sink { [weak self] _ in self?.revision += 1 }
      }
    }
    try Library().withBook { book, _ in
      let model = Model(book)
      let revisions = Received<Int>()
      let subscription = model.$revision.dropFirst().sink { revisions.values.append($0) }
      var announced = 0
      let other = model.objectWillChange.sink { announced += 1 }
      book.title = "Evelina"
      book.title = "Cecilia"
      #expect(revisions.values == [1, 2])
      #expect(announced == 2)
      _ = (subscription, other)
    }
  }

  @Test("Observation and publishers observe one object side by side")
  func withObservation() throws {
    try Library().withBook { book, context in
      context.observesObjects = true
      let titles = Received<String?>()
      let subscription = book.publisher(for: \.title, options: []).sink { titles.values.append($0) }
      let changed = Flag()
      withObservationTracking {
        _ = book.title
      } onChange: {
        changed.isSet = true
      }
      book.title = "Evelina"
      #expect(changed.isSet)
      #expect(titles.take() == ["Evelina"])
      changed.isSet = false
      book.title = "Cecilia"
      context.processPendingChanges()
      #expect(!changed.isSet)
      #expect(titles.take() == ["Cecilia"])
      _ = subscription
    }
  }
}

/// Set on one queue.
private final class Flag: @unchecked Sendable {
  // Safe: the test's context calls back on the thread that sets.
  var isSet = false
}
