import SwiftData

@main
struct Main {
  static func main() async {
    do {
      for line in try await JournalCommand.run(Array(CommandLine.arguments.dropFirst())) { print(line) }
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }
}
