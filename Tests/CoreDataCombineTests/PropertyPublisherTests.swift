import CoreDataCombine
import Testing

@Suite("publisher(for:) of managed objects")
struct PropertyPublisherTests {
  @Test("The value comes at once, and after each setter, the same value included")
  func setters() throws {
    try Library().withBook { book, _ in
      let titles = Received<String?>()
      let subscription = book.publisher(for: \.title).sink { titles.values.append($0) }
      #expect(titles.take() == ["Emma"])
      book.title = "Persuasion"
      #expect(titles.take() == ["Persuasion"])
      book.title = "Persuasion"
      #expect(titles.take() == ["Persuasion"])
      book.title = nil
      #expect(titles.take() == [nil])
      book.setValue("Sanditon", forKey: "title")
      #expect(titles.take() == ["Sanditon"])
      book.pages = 1
      book.subtitle = "unfinished"
      #expect(titles.take() == [])
      book.setPrimitiveValue("The Watsons", forKey: "title")
      #expect(titles.take() == [])
      // A custom setter, as Core Data's documentation has it.
      book.willChangeValue(forKey: "title")
      book.setPrimitiveValue("Lady Susan", forKey: "title")
      book.didChangeValue(forKey: "title")
      #expect(titles.take() == ["Lady Susan"])
      subscription.cancel()
      book.title = "Emma"
      #expect(titles.take() == [])
    }
  }

  @Test("Without .initial nothing comes at once; with .prior the value before a setter, too")
  func options() throws {
    try Library().withBook { book, context in
      let pages = Received<Int64>()
      var subscriptions: Set<AnyCancellable> = []
      book.publisher(for: \.pages, options: [.new]).sink { pages.values.append($0) }.store(in: &subscriptions)
      #expect(pages.take() == [])
      book.pages = 475
      #expect(pages.take() == [475])
      subscriptions = []
      book.publisher(for: \.pages, options: [.prior]).sink { pages.values.append($0) }
        .store(in: &subscriptions)
      book.pages = 476
      #expect(pages.take() == [475, 476])
      context.rollback()
      #expect(pages.take() == [474])
    }
  }

  @Test(
    "A merge, a refresh, undo, redo and rollback are told at the end of their event, once, when something is different"
  )
  func otherChanges() throws {
    let library = try Library()
    try library.withBook { book, context in
      context.undoManager = UndoManager()
      let titles = Received<String?>()
      let subscription = book.publisher(for: \.title).sink { titles.values.append($0) }
      #expect(titles.take() == ["Emma"])
      try library.changeElsewhere(book.objectID) { $0.pages = 12 }
      // Merged when the context's queue comes to it: here, by hand.
      context.refresh(book, mergeChanges: true)
      context.processPendingChanges()
      #expect(book.pages == 12)
      #expect(titles.take() == [])
      try library.changeElsewhere(book.objectID) { $0.title = "Evelina" }
      context.refresh(book, mergeChanges: true)
      context.processPendingChanges()
      #expect(titles.take() == ["Evelina"])
      context.refresh(book, mergeChanges: false)
      context.processPendingChanges()
      #expect(titles.take() == [])
      book.title = "Cecilia"
      #expect(titles.take() == ["Cecilia"])
      context.processPendingChanges()
      #expect(titles.take() == [])
      context.undo()
      context.processPendingChanges()
      #expect(titles.take() == ["Evelina"])
      context.redo()
      context.processPendingChanges()
      #expect(titles.take() == ["Cecilia"])
      context.rollback()
      #expect(titles.take() == ["Evelina"])
      subscription.cancel()
    }
  }

  @Test("A save that is merged by its notification is told")
  func mergedSave() throws {
    let library = try Library()
    try library.withBook { book, context in
      let titles = Received<String?>()
      let subscription = book.publisher(for: \.title, options: []).sink { titles.values.append($0) }
      let identifier = book.objectID
      let saved = Received<Notification>()
      let observer = NotificationCenter.default
        .publisher(for: .NSManagedObjectContextDidSave, object: library.sibling)
        .sink { saved.values.append($0) }
      try library.changeElsewhere(identifier) { $0.title = "Evelina" }
      #expect(saved.values.count == 1)
      context.mergeChanges(fromContextDidSave: try #require(saved.values.first))
      context.processPendingChanges()
      #expect(titles.take() == ["Evelina"])
      #expect(book.title == "Evelina")
      _ = (subscription, observer)
    }
  }

  @Test(
    "A to-one relationship is told when both ends are set; the other end's members at the end of the event")
  func relationships() throws {
    try Library().withBook { book, context in
      let (jane, fanny) = (Novelist(context: context), Novelist(context: context))
      jane.name = "Jane"
      fanny.name = "Fanny"
      let seen = Received<String>()
      let books = Received<Int>()
      let authors = book.publisher(for: \.author, options: []).sink { author in
        // The other end has been set as well.
        let isThere = author.map { $0.books.contains(book) } ?? !jane.books.contains(book)
        seen.values.append("\(author?.name ?? "nobody") \(isThere)")
      }
      let members = jane.publisher(for: \.books, options: []).sink { books.values.append($0.count) }
      book.author = jane
      #expect(seen.take() == ["Jane true"])
      context.processPendingChanges()
      #expect(books.take() == [1])
      #expect(seen.take() == [])
      book.author = fanny
      context.processPendingChanges()
      #expect(seen.take() == ["Fanny true"])
      #expect(books.take() == [0])
      jane.books = [book]
      context.processPendingChanges()
      #expect(seen.take().last == "Jane true")
      #expect(books.take() == [1])
      context.delete(jane)
      context.processPendingChanges()
      #expect(seen.take() == ["nobody true"])
      _ = (authors, members)
    }
  }

  @Test("Members of a many-to-many relationship are told at both ends")
  func manyToMany() throws {
    try Library().withBook { book, context in
      let shelf = Rack(context: context)
      let (there, back) = (Received<Int?>(), Received<Int?>())
      let first = shelf.publisher(for: \.books, options: []).sink { there.values.append($0?.count) }
      let second = book.publisher(for: \.shelves, options: []).sink { back.values.append($0?.count) }
      shelf.addToBooks(book)
      context.processPendingChanges()
      #expect(there.take() == [1])
      #expect(back.take() == [1])
      shelf.removeFromBooks(book)
      context.processPendingChanges()
      #expect(there.take() == [0])
      #expect(back.take() == [0])
      _ = (first, second)
    }
  }

  @Test("Computed and transient properties are told by what they read")
  func computed() throws {
    try Library().withBook { book, context in
      let (headings, marks) = (Received<String>(), Received<String?>())
      let heading = book.publisher(for: \.heading).sink { headings.values.append($0) }
      let mark = book.publisher(for: \.mark).sink { marks.values.append($0) }
      #expect(headings.take() == ["Emma"])
      book.subtitle = "A Novel"
      #expect(headings.take() == ["Emma: A Novel"])
      book.pages = 3
      #expect(headings.take() == [])
      book.mark = "page 3"
      #expect(marks.take() == [nil, "page 3"])
      context.processPendingChanges()
      #expect(marks.take() == [])
      _ = (heading, mark)
    }
  }

  @Test("The newest value is kept for a subscriber that wants none yet")
  func demand() throws {
    try Library().withBook { book, _ in
      let subscriber = Patient<String?>()
      book.publisher(for: \.title).subscribe(subscriber)
      #expect(subscriber.received == [])
      book.title = "A"
      book.title = "B"
      #expect(subscriber.received == [])
      subscriber.subscription?.request(.max(1))
      #expect(subscriber.received == ["B"])
      book.title = "C"
      #expect(subscriber.received == ["B"])
      subscriber.subscription?.request(.unlimited)
      book.title = "D"
      #expect(subscriber.received == ["B", "C", "D"])
      subscriber.subscription?.cancel()
    }
  }

  @Test("A subscriber may set the property, cancel, and subscribe again while it is told")
  func reentrance() throws {
    try Library().withBook { book, context in
      let titles = Received<String?>()
      var subscription: AnyCancellable?
      subscription = book.publisher(for: \.title, options: []).sink { title in
        titles.values.append(title)
        if title == "1" { book.title = "2" }
        if title == "2" { subscription?.cancel() }
      }
      book.title = "1"
      book.title = "3"
      #expect(titles.take() == ["1", "2"])
      #expect(book.title == "3")
      context.processPendingChanges()
      #expect(titles.take() == [])
      _ = subscription
    }
  }

  @Test(
    "Who reads a property that is published reads it as before, and writes it as fast when nobody listens any more"
  )
  func aftermath() throws {
    try Library().withBook { book, context in
      let author = Novelist(context: context)
      author.name = "Jane"
      book.author = author
      try context.save()
      let names = Received<String?>()
      var subscription: AnyCancellable? = book.publisher(for: \.author?.name).sink { names.values.append($0) }
      #expect(names.take() == ["Jane"])
      author.name = "J. A."
      // The property of another object is not one of the book's.
      #expect(names.take() == [])
      book.author = nil
      #expect(names.take() == [nil])
      subscription = nil
      book.author = author
      #expect(names.take() == [])
      #expect(book.author?.name == "J. A." && subscription == nil)
    }
  }

  @Test(
    "An object in no context, one that is inserted later, and one that is deleted are told as long as they live"
  )
  func lifetimes() throws {
    let library = try Library()
    try library.context.performAndWait {
      let context = library.context
      let entity = try #require(
        context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Paperback"])
      let book = Paperback(entity: entity, insertInto: nil)
      let titles = Received<String?>()
      let subscription = book.publisher(for: \.title).sink { titles.values.append($0) }
      book.title = "Loose"
      #expect(titles.take() == [nil, "Loose"])
      context.insert(book)
      book.title = "Bound"
      #expect(titles.take() == ["Bound"])
      try context.save()
      try library.changeElsewhere(book.objectID) { $0.title = "Elsewhere" }
      context.refresh(book, mergeChanges: true)
      context.processPendingChanges()
      #expect(titles.take() == ["Elsewhere"])
      context.delete(book)
      try context.save()
      #expect(titles.take() == [])
      #expect(book.title == "Elsewhere")
      _ = subscription
    }
  }

  @Test("A subscription keeps the object, and nothing keeps the subscription")
  func memory() throws {
    let library = try Library()
    try library.context.performAndWait {
      let entity = try #require(
        library.context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Novelist"])
      weak var author: Novelist?
      weak var subscriber: Patient<String?>?
      var subscription: Subscription?
      do {
        // In no context, which would keep it.
        let new = Novelist(entity: entity, insertInto: nil)
        author = new
        let patient = Patient<String?>()
        subscriber = patient
        new.publisher(for: \.name).subscribe(patient)
        subscription = patient.subscription
        patient.subscription = nil
      }
      #expect(author != nil && subscriber != nil)
      author?.name = "Jane"
      subscription?.request(.unlimited)
      #expect(subscriber?.received == ["Jane"])
      subscription?.cancel()
      #expect(subscriber == nil && author == nil)
    }
  }
}

/// Wants nothing until it is told to.
final class Patient<Input>: Subscriber {
  typealias Failure = Never
  var subscription: Subscription?
  var received: [Input] = []

  func receive(subscription: Subscription) { self.subscription = subscription }
  func receive(_ input: Input) -> Subscribers.Demand {
    received.append(input)
    return .none
  }
  func receive(completion: Subscribers.Completion<Never>) {}
}
