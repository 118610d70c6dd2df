struct FileSystem: Sendable { static let system = FileSystem() }
